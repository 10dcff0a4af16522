"""How many examples a generated corpus gets, and drawing distinct ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from regard.config import DataSettings
from regard.errors import UserError

Drawn = TypeVar("Drawn", bound=Hashable)


@dataclass(frozen=True)
class Counts:
    train: int
    dev: int
    test: int
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.train + self.dev + self.test


def counts(config: DataSettings, train: int, held_out: int, available: int, remedy: str) -> Counts:
    """What the settings ask for, else the defaults; at most what is available, by a note or an error."""
    given = {"examples": config.examples, "dev_examples": config.dev_examples, "test_examples": config.test_examples}
    wanted = Counts(config.examples or train, config.dev_examples or held_out, config.test_examples or held_out)
    if wanted.total <= available:
        return wanted
    if any(given.values()):
        set_keys = " and ".join(f"data.{key} = {value}" for key, value in given.items() if value)
        raise UserError(
            f"{set_keys}: {wanted.train} + {wanted.dev} + {wanted.test} examples are wanted, but {config.corpus} has "
            f"{available} different ones; {remedy}"
        )
    if available < 3:
        raise UserError(f"{config.corpus} has only {available} different examples with these settings; {remedy}")
    small = max(1, available // 10)
    note = f"only {available} different examples exist with these settings: {available - 2 * small} are for training"
    return Counts(available - 2 * small, small, small, (note,))


def distinct(
    generator: random.Random,
    count: int,
    draw: Callable[[], Drawn],
    every: Callable[[], Iterable[Drawn]],
    available: int,
) -> list[Drawn]:
    """`count` different values in random order: drawn anew on repetition, or from the list of all if that is short.

    The order is shuffled: in the order of drawing the rare ones come first, and held-out sets would take them all.
    """
    if available < 4 * count:
        values = list(every())
        generator.shuffle(values)
        return values[:count]
    seen: dict[Drawn, None] = {}
    while len(seen) < count:
        seen.setdefault(draw())
    values = list(seen)
    generator.shuffle(values)
    return values
