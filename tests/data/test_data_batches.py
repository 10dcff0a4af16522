"""Batches: complete, padded right, within the budget, each row once, and planned by a pure function."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.batches import Pairs, encode_pairs, make_batch, plan
from regard.data.class_labels import ClassLabels
from regard.data.examples import Example
from regard.data.token_store import TokenStore
from regard.data.tokenizer import BOS, EOS, PAD, Tokenizer
from regard.errors import UserError

CHARACTER = Tokenizer.train(["abc"], "character")
A, B, C = (CHARACTER.encode(letter)[0] for letter in "abc")


def pairs_of(lengths: list[tuple[int, int]]) -> Pairs:
    """Rows with so many ids on each side, EOS included."""
    sides = []
    for side in (0, 1):
        sizes = [length[side] for length in lengths]
        sides.append(
            TokenStore(np.full(sum(sizes), 7, np.int32), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        )
    return Pairs(sides[0], sides[1], np.arange(len(lengths)))


def test_batch_by_hand() -> None:
    pairs, skipped = encode_pairs([Example("ab", "c"), Example("", "abc"), Example("a", "")], CHARACTER, CHARACTER)
    assert not skipped
    batch = make_batch(pairs, [1, 0, 2])
    assert batch.source.tolist() == [[EOS, PAD, PAD], [A, B, EOS], [A, EOS, PAD]]
    assert batch.source_mask.tolist() == [[True, False, False], [True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[BOS, A, B, C], [BOS, C, PAD, PAD], [BOS, PAD, PAD, PAD]]
    assert batch.target_out.tolist() == [[A, B, C, EOS], [C, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    assert batch.target_mask.tolist() == [[True] * 4, [True, True, False, False], [True, False, False, False]]
    assert batch.token_count == 7
    assert batch.rows == (1, 0, 2)
    assert batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == torch.int64
    assert batch.source_mask.dtype == batch.target_mask.dtype == torch.bool


def test_classes_have_no_special_ids_and_unknown_ones_are_counted() -> None:
    labels = ClassLabels(["bad", "good"])
    examples = [Example("ab", "good"), Example("a", "odd"), Example("abc", "bad")]
    pairs, skipped = encode_pairs(examples, CHARACTER, labels)
    assert [(example.where, example.why) for example in skipped] == [("pair 2", "its class is none of the model's")]
    batch = make_batch(pairs, [0, 1])
    assert batch.target_in.tolist() == [[BOS], [BOS]]
    assert batch.target_out.tolist() == [[1], [0]]
    assert batch.target_mask.tolist() == [[True], [True]]
    assert pairs.examples.tolist() == [0, 2]


def test_long_pairs_are_left_out_and_counted() -> None:
    examples = [Example("abc", "a"), Example("abca", "a"), Example("a", "abcab"), Example("a", "b")]
    pairs, skipped = encode_pairs(examples, CHARACTER, CHARACTER, max_tokens=3)
    assert pairs.examples.tolist() == [0, 3]
    assert [example.where for example in skipped] == ["pair 2", "pair 3"]
    assert [one.why for one in skipped] == [f"its {side} has more than 3 tokens" for side in ("source", "target")]
    assert pairs.source.row(0).tolist() == [A, B, C, EOS]


def test_nothing_to_encode() -> None:
    pairs, skipped = encode_pairs([], CHARACTER, CHARACTER)
    assert (len(pairs), skipped) == (0, [])
    with pytest.raises(UserError, match="0 training pairs"):
        plan(pairs, 100, seed=1, epoch=0)


LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=80)


@settings(max_examples=100, deadline=None)
@given(lengths=LENGTHS, budget=st.integers(1, 200), world=st.integers(1, 4), seed=st.integers(0, 5))
def test_every_row_once_within_the_budget_and_evenly(
    lengths: list[tuple[int, int]], budget: int, world: int, seed: int
) -> None:
    pairs = pairs_of(lengths)
    if world > len(lengths):
        with pytest.raises(UserError, match="cannot feed"):
            plan(pairs, budget, seed, 0, 0, world)
        return
    parts = [plan(pairs, budget, seed, 3, rank, world) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    rows = [int(row) for part in parts for batch in part for row in batch]
    assert sorted(rows) == list(range(len(lengths)))
    for part in parts:
        for batch in part:
            longest = max(max(lengths[row]) for row in batch)
            # With several processes and only single rows, some may have to be joined to come out even.
            assert len(batch) == 1 or len(batch) * longest <= budget or (world > 1 and len(batch) <= world)


def test_plan_is_pure_shuffled_and_pads_little() -> None:
    generator = np.random.default_rng(0)
    pairs = pairs_of([(int(n), int(m)) for n, m in generator.integers(1, 60, (3000, 2))])
    first, again = plan(pairs, 1000, 1, 0), plan(pairs, 1000, 1, 0)
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    for other in (plan(pairs, 1000, 1, 1), plan(pairs, 1000, 2, 0)):
        assert not all(np.array_equal(one, two) for one, two in zip(first, other, strict=False))
    longest = [max(pairs.source_lengths[rows].max(), pairs.target_lengths[rows].max()) for rows in first]
    assert longest != sorted(longest)  # short and long batches mix
    real = np.maximum(pairs.source_lengths, pairs.target_lengths).sum()
    padded = sum(len(rows) * length for rows, length in zip(first, longest, strict=True))
    assert real / padded > 0.97
    assert sum(len(rows) for rows in first) / len(first) > 0.9 * 1000 / np.mean(longest) * 0.8
