"""Held-out development and test examples; no source is in two splits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.examples import Example
from regard.data.image_codec import split_reference
from regard.errors import UserError

SHARE = 0.05
AT_MOST = 1000


@dataclass(frozen=True)
class Carved:
    train: list[Example]
    dev: list[Example]
    test: list[Example]


def default_count(total: int) -> int:
    """5% of the pairs, at least 1, at most 1000."""
    return max(1, min(AT_MOST, int(total * SHARE)))


def carve(examples: Sequence[Example], dev: int, test: int, seed: int) -> Carved:
    """`dev` and `test` examples held out (0: none). Pairs with one source stay together (of an image whatever word goes
    with it); train keeps its order.
    """
    rows_of: dict[str, list[int]] = {}
    continuation = not any(example.source for example in examples)
    for index, example in enumerate(examples):
        rows_of.setdefault(example.target if continuation else _name(example), []).append(index)
    groups = sorted(rows_of.values())
    random.Random(f"carve {seed}").shuffle(groups)
    wanted = {name: count for name, count in (("dev", dev), ("test", test)) if count}
    if len(groups) <= len(wanted):
        raise UserError(
            f"the corpus has {len(groups)} distinct source{'s' * (len(groups) != 1)}: too few to hold out "
            f"{' and '.join(wanted)}; give more pairs, or dev and test files"
        )
    if sum(wanted.values()) >= len(examples):
        raise UserError(
            f"{' + '.join(f'data.{name}_examples = {count}' for name, count in wanted.items())} leave nothing to train "
            f"on: there are {len(examples)} pairs; hold out fewer"
        )
    split = ["train"] * len(examples)
    left = groups
    for index, (name, count) in enumerate(wanted.items()):
        left = _take(left, name, count, split, keep=len(wanted) - index)
    rows = {name: [e for e, s in zip(examples, split, strict=True) if s == name] for name in ("train", "dev", "test")}
    return Carved(**rows)


def _take(groups: list[list[int]], name: str, count: int, split: list[str], keep: int) -> list[list[int]]:
    """Marks whole groups, in their shuffled order, that fit into `count`; the smallest where none fits.

    At least `keep` groups are left: one for each split that follows, and one to train on.
    """
    taken, spare = 0, len(groups) - keep
    left = []
    for group in groups:
        if spare > 0 and taken + len(group) <= count:
            taken, spare = taken + len(group), spare - 1
            for index in group:
                split[index] = name
        else:
            left.append(group)
    if taken == 0:
        smallest = min(left, key=len)
        left.remove(smallest)
        for index in smallest:
            split[index] = name
    return left


def overlap(train: Sequence[Example], held_out: Sequence[Example]) -> int:
    """How many held-out examples have a source (or, where sources are empty, a target) that train has too."""
    seen = {_name(example) or example.target for example in train}
    return sum((_name(example) or example.target) in seen for example in held_out)


def _name(example: Example) -> str:
    """The source; of an image without the word that goes with it."""
    return split_reference(example.source)[0]
