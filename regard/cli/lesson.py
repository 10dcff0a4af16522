"""regard lesson."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from regard.config.values import Positive
from regard.errors import UserError


def lesson(
    name: str | None = None,
    /,
    *,
    size: Literal["tiny", "quick", "full"] = "quick",
    seeds: Positive | None = None,
    workers: Positive = 2,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Test a claim of the lectures: the experiment, a figure, the numbers, and whether it holds here.

    Parameters
    ----------
    name
        Which lesson, or `all`; without a name the lessons are listed.
    size
        quick takes a minute or two a lesson; full takes longer and proves more; tiny only checks that it runs.
    seeds
        How many trainings of each model (quick 2, full 5).
    workers
        Trainings in parallel, one thread each.
    out
        The page with the figures (runs/lessons/NAME.html); written after each lesson.
    json
        Print JSON.
    """
    from regard.apps.lessons import LESSONS, find_lesson, run_lessons
    from regard.apps.lessons.report import html, json_text, text
    from regard.cli.progress import stages
    from regard.files import check_writable, write_text

    if name is None:
        width = max(len(known.name) for known in LESSONS)
        print("\n".join(f"{known.name:<{width}}  {known.claim}" for known in LESSONS))
        print("\nregard lesson NAME runs one, regard lesson all --out report.html all of them", file=sys.stderr)
        return 0
    page = out or Path("runs") / "lessons" / f"{name}.html"
    if page.suffix != ".html":
        raise UserError(f"--out {page}: a report is a page; name it .html")
    lessons = LESSONS if name == "all" else (find_lesson(name),)
    if out is None:
        page.parent.mkdir(parents=True, exist_ok=True)
    check_writable(page)
    results = []
    try:
        with stages() as progress:
            for result in run_lessons(lessons, size, seeds, workers, progress):
                results.append(result)
                write_text(page, html(results))
                if not json:
                    print(text(result), flush=True)
    finally:  # after Ctrl-C, too
        if json and results:
            print(json_text(results), end="")
        if results:
            print(f"the page: {page}", file=sys.stderr)
    return 0
