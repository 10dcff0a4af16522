"""The residual is 0 for what keeps order and not for what mixes it; orders are counted as by hand."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.apps.lessons.order import ENCODERS, PRECISION, UNORDERED, ceiling, encoder_residual, orders, residual


def test_residual_of_known_functions() -> None:
    inputs, order = torch.arange(1.0, 5)[None], torch.tensor([1, 0, 3, 2])
    assert residual(lambda x: x.square(), inputs, order) == 0
    assert residual(lambda x: x - x.sum(1, keepdim=True), inputs, order) == 0
    assert residual(lambda x: x.cumsum(1), inputs, order) == pytest.approx(4 / 10)  # 2 3 7 10 for 3 1 10 6
    assert residual(lambda x: x * torch.arange(4.0), inputs, order) > 0.1


@pytest.mark.parametrize("name", ENCODERS)
def test_only_what_gives_the_order_breaks_it(name: str) -> None:
    assert (encoder_residual(ENCODERS[name], seed=5) <= PRECISION) == (name == UNORDERED)


@pytest.mark.parametrize("word", ["a", "ab", "aab", "abca", "aabb"])
def test_orders_are_as_many_as_there_are(word: str) -> None:
    assert orders(word) == len(set(itertools.permutations(word)))


def test_the_ceiling_without_order() -> None:
    assert ceiling(range(1, 2)) == 100
    assert ceiling(range(2, 3), letters=1) == 100
    assert ceiling(range(2, 3), letters=1000) == pytest.approx(50, abs=0.5)
