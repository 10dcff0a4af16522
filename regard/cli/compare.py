"""regard compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.config import Settings


def compare(
    recipe: str,
    /,
    *,
    presets: str,
    seeds: int = 1,
    minutes: float | None = None,
    steps: int | None = None,
    out: Path | None = None,
    settings: Annotated[Settings, Parameter(name="*")] = Settings(),  # noqa: B008
) -> int:
    """Train several architectures on the same data with the same budget, and write one report.

    After an interruption, the same command resumes it.

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
    from regard.apps.compare import Sweep
    from regard.apps.compare import compare as compare_sweep

    given = settings.model_dump(exclude_unset=True)
    limits = {key: value for key, value in (("minutes", minutes), ("steps", steps)) if value is not None}
    if limits:
        given["training"] = {**given.get("training", {}), **limits}
    names = tuple(name.strip() for name in presets.split(",") if name.strip())
    sweep = Sweep(recipe, names, seeds, given, out or Path("runs") / f"compare-{Path(recipe).stem}")
    try:
        page = compare_sweep(sweep)
    except KeyboardInterrupt:
        print("regard: stopped; the same command resumes it", file=sys.stderr)
        return 130
    print((sweep.out / "report.md").read_text(encoding="utf-8"))
    print(f"the page: {page}", file=sys.stderr)
    return 0
