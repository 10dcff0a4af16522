"""What a lesson is: a claim of the lectures, an experiment, and a verdict with its margin over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

from regard.apps.lessons.trials import Trials
from regard.config import Tree, merge

Size = Literal["tiny", "quick", "full"]
Value = TypeVar("Value")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Setting:
    """How much is spent: tiny checks the machinery and proves nothing, quick takes minutes, full may take an hour."""

    size: Size
    seeds: tuple[int, ...]
    trials: Trials

    def pick(self, *, tiny: Value, quick: Value, full: Value) -> Value:
        """The value for this size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]

    def compare(
        self, what: str, function: Callable[[Tree], Answer], variants: Mapping[str, Tree]
    ) -> dict[str, list[Answer]]:
        """`function` of each variant's settings with each seed: answers by name, in the order of the seeds."""
        jobs = [merge(tree, {"training": {"seed": seed}}) for tree in variants.values() for seed in self.seeds]
        answers = iter(self.trials.run(what, function, jobs))
        return {name: [next(answers) for _ in self.seeds] for name in variants}


@dataclass(frozen=True)
class Table:
    """Numbers by name; cells are text."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Verdict:
    """One part of the claim: whether it holds here, and by how much, seed by seed."""

    about: str
    holds: bool
    margin: str


@dataclass(frozen=True)
class Finding:
    """What came out. `numbers` is all that was measured, for JSON."""

    experiment: str  # what was done, in a sentence or two
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
    """`claim` is one sentence that can be wrong; `after` is where it comes from."""

    name: str
    claim: str
    after: str
    run: Callable[[Setting], Finding]


def margin(about: str, margins: Sequence[float], unit: str, more_than: float = 0.0) -> Verdict:
    """Holds where the margin exceeds the bar for every seed."""
    low, high = min(margins), max(margins)
    bar = f", more than {more_than:g} asked" if more_than else ""
    if len(margins) == 1:
        text = f"{low:.4g} {unit}{bar}"
    else:
        mean = sum(margins) / len(margins)
        text = f"{mean:.4g} {unit} ({low:.4g} to {high:.4g} over {len(margins)} seeds{bar})"
    return Verdict(about, low > more_than, text)


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """How far one is above the other, seed by seed."""
    return [one - other for one, other in zip(ours, theirs, strict=True)]


def bound(about: str, value: float, at_most: float) -> Verdict:
    """Holds where a residual is as small as it should be."""
    return Verdict(about, value <= at_most, f"{value:.3g}, at most {at_most:.3g} asked")


def mean_range(values: Sequence[float], digits: int = 1) -> str:
    """The mean of some seeds and their range, as a cell."""
    mean = sum(values) / len(values)
    spread = f" ({min(values):.{digits}f} to {max(values):.{digits}f})" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{spread}"
