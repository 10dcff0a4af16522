"""Run lessons one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from regard.apps.lessons.lesson import Budget, Lesson, Size
from regard.apps.lessons.report import LessonResult
from regard.apps.lessons.worker_pool import Progress, WorkerPool
from regard.threads import configure_torch

SEEDS: dict[Size, int] = {"tiny": 1, "quick": 2, "full": 5}


def run_lessons(
    lessons: Sequence[Lesson],
    size: Size = "quick",
    seeds: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> Iterator[LessonResult]:
    """The result of each lesson as soon as it is done. Seeds are 1, 2, …; `workers` trainings run in parallel."""
    count = SEEDS[size] if seeds is None else seeds
    configure_torch()
    with WorkerPool(workers, progress or (lambda what, done, total: None)) as pool:
        budget = Budget(size, tuple(range(1, count + 1)), pool)
        for lesson in lessons:
            start = time.monotonic()
            finding = lesson.run(budget)
            yield LessonResult(lesson, finding, size, count, time.monotonic() - start)
