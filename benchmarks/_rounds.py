"""Work that is timed in rounds, each piece in turn, so that a slow minute of the machine is a slow minute for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")


def timed(
    work: Mapping[Key, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[Key, list[float]]:
    """The seconds that each piece took, a number a round."""
    seconds: dict[Key, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return seconds


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    """A cell: median (min to max)."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
