"""A lesson: a claim of the lectures, an experiment, and a verdict with its margin over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

from regard.apps.lessons.worker_pool import WorkerPool
from regard.config import Tree, merge

Size = Literal["tiny", "quick", "full"]
Value = TypeVar("Value")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Budget:
    """How much a lesson may compute: tiny only checks that it runs, quick takes minutes, full may take an hour."""

    size: Size
    seeds: tuple[int, ...]
    pool: WorkerPool

    def pick(self, *, tiny: Value, quick: Value, full: Value) -> Value:
        """The value for this size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]

    def compare(
        self, what: str, function: Callable[[Tree], Answer], variants: Mapping[str, Tree]
    ) -> dict[str, list[Answer]]:
        """`function` of each variant's settings with each seed: its answers by variant, in the order of the seeds."""
        jobs = [merge(tree, {"training": {"seed": seed}}) for tree in variants.values() for seed in self.seeds]
        answers = iter(self.pool.run(what, function, jobs))
        return {name: [next(answers) for _ in self.seeds] for name in variants}


@dataclass(frozen=True)
class Table:
    """A table of text: one title for each column."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Verdict:
    """One part of the claim: whether it holds here, and by what margin over the seeds."""

    about: str
    holds: bool
    margin: str


@dataclass(frozen=True)
class Finding:
    """The result of an experiment. `numbers` holds all measurements, for JSON."""

    experiment: str  # what was done, in a few sentences
    tables: tuple[Table, ...]
    figures: tuple[str, ...]  # SVG
    verdicts: tuple[Verdict, ...]
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """A claim holds where every part of it does."""
        return all(verdict.holds for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        verdicts = [asdict(verdict) for verdict in self.verdicts]
        return {"experiment": self.experiment, "holds": self.holds, "verdicts": verdicts, "numbers": self.numbers}


@dataclass(frozen=True)
class Lesson:
    """`claim` is one sentence that can be wrong; `after` is its source. A page shows `formula`, and `model` as boxes
    that data passes through."""

    name: str
    claim: str
    after: str
    run: Callable[[Budget], Finding]
    formula: str = ""
    model: tuple[str, ...] = ()


def margin(about: str, margins: Sequence[float], unit: str, more_than: float = 0.0) -> Verdict:
    """Holds where the margin is above the threshold for every seed."""
    low, high = min(margins), max(margins)
    threshold = f", above {more_than:g} required" if more_than else ""
    if len(margins) == 1:
        text = f"{low:.4g} {unit}{threshold}"
    else:
        mean = sum(margins) / len(margins)
        text = f"{mean:.4g} {unit} ({low:.4g} to {high:.4g} over {len(margins)} seeds{threshold})"
    return Verdict(about, low > more_than, text)


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """By how much the first is above the second, seed by seed."""
    return [first - second for first, second in zip(ours, theirs, strict=True)]


def bound(about: str, value: float, at_most: float) -> Verdict:
    """Holds where a value is at most the threshold."""
    return Verdict(about, value <= at_most, f"{value:.3g}, at most {at_most:.3g} required")


def mean_range(values: Sequence[float], digits: int = 1) -> str:
    """The mean over seeds and their range, as the text of a cell."""
    mean = sum(values) / len(values)
    spread = f" ({min(values):.{digits}f} to {max(values):.{digits}f})" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{spread}"
