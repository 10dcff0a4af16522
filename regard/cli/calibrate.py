"""regard calibrate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.cli.search import SearchFlags
from regard.config import SearchSettings
from regard.config.values import Positive


def calibrate(
    run: Path,
    /,
    *,
    event: Literal["exact", "chrf"] | None = None,
    save: Path | None = None,
    search: SearchFlags = SearchSettings(),  # noqa: B008
    threads: Positive | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Fit a translator's confidence: the probability that an output is right as it is.

    Fitted on the run's development pairs, measured on its test pairs, and stored in the run as calibration.json. Then
    `regard translate --confidence` and Result.confidence give it.

    Parameters
    ----------
    run
        A run directory.
    event
        What is right: exact, equal to the reference; or chrf, a sentence's chrF above 80 (default: as training.metric).
    save
        The reliability curve as a picture (.svg, .png, .html).
    threads
        CPU threads.
    json
        The report as JSON.
    """
    from regard.evaluation.calibration import reliability_chart, render_calibration
    from regard.pipeline import Translator, load, require
    from regard.plotting import save_picture
    from regard.plotting.save import check_ending

    if save is not None:
        check_ending(save)
    translator = require(load(run, threads), Translator, "only translations are calibrated")
    with progress_bar("translating", sum(len(translator.examples(split)) for split in ("dev", "test"))) as progress:
        report = translator.calibrate(event, translator.search_with(search), progress)
    if save is not None:
        save_picture(save, reliability_chart(report))
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render_calibration(report))
    return 0
