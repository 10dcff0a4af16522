"""regard compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.config import RunConfig, read_recipe, settle
from regard.errors import UserError


def compare(
    recipe: str,
    /,
    *,
    presets: str,
    seeds: int = 1,
    minutes: float | None = None,
    steps: int | None = None,
    out: Path | None = None,
    settings: Annotated[RunConfig, Parameter(name="*")] = RunConfig(),  # noqa: B008
) -> int:
    """Train several architectures on the same data with the same budget, and write one report.

    Interrupted, the same command goes on where it was.

    Parameters
    ----------
    recipe
        A TOML file, or the name of one that ships with regard.
    presets
        Names of architectures with commas between: rnn-fixed,lstm-additive,transformer.
    seeds
        How many trainings of each.
    minutes
        Wall-clock limit of each training.
    steps
        Updates of each training.
    out
        The folder for the runs and the report (runs/compare-RECIPE).
    """
    from regard.apps.compare import Contest, hold, measure, write_report

    given = settings.model_dump(exclude_unset=True)
    names = tuple(name.strip() for name in presets.split(",") if name.strip())
    if not names or seeds < 1:
        raise UserError(f"--presets {presets!r} and --seeds {seeds}: name one architecture and one seed at least")
    if minutes is not None:
        given.setdefault("training", {})["minutes"] = minutes
    if steps is not None:
        given.setdefault("training", {})["steps"] = steps
    for name in names:  # whatever is wrong is found before the first training
        settle(read_recipe(recipe), given, {"model": {"preset": name}}, where="command line")
    folder = out or Path("runs") / f"compare-{Path(recipe).stem}"
    contest = Contest(recipe, names, seeds, tuple(_flags(given)), folder)
    try:
        measured = [measure(entry) for entry in hold(contest)]
    except KeyboardInterrupt:
        print("regard: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    page = write_report(f"{Path(recipe).stem}: {len(names)} architectures, {seeds} seed(s) each", measured, folder)
    print((folder / "report.md").read_text(encoding="utf-8"))
    print(f"the page: {page}", file=sys.stderr)
    return 0


def _flags(given: dict[str, dict[str, object]]) -> list[str]:
    """The settings as words of a command line."""
    flags = []
    for section, fields in given.items():
        for key, value in fields.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            flags += [f"--{section}.{key.replace('_', '-')}={text}"]
    return flags
