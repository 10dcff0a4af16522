"""Give lessons one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from regard.apps.lessons.contract import Lesson, Setting, Size
from regard.apps.lessons.report import Held
from regard.apps.lessons.trials import Progress, Trials
from regard.threads import prepare

SEEDS: dict[Size, int] = {"tiny": 1, "quick": 2, "full": 5}


def teach(
    lessons: Sequence[Lesson],
    size: Size = "quick",
    seeds: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> Iterator[Held]:
    """Each as soon as it is done. Seeds are 1, 2, …; `workers` trainings run at a time, one thread each."""
    count = SEEDS[size] if seeds is None else seeds
    prepare()
    with Trials(workers, progress or (lambda what, done, total: None)) as trials:
        setting = Setting(size, tuple(range(1, count + 1)), trials)
        for lesson in lessons:
            began = time.monotonic()
            finding = lesson.run(setting)
            yield Held(lesson, finding, size, count, time.monotonic() - began)
