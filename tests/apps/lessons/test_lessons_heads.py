"""The distance of heads on weights for which it is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.apps.lessons.neighbours import LENGTH, LETTERS, OFFSETS, EncoderStack, Namer, draw, head_distance


def peaked(keys: list[int], size: int) -> Tensor:
    """One head (T, S) with all weight on one key for each query."""
    return torch.eye(size)[keys]


def test_the_distance_of_heads_is_the_weight_on_different_keys() -> None:
    first, second = peaked([0, 1, 2], 4), peaked([3, 1, 0], 4)
    assert head_distance(torch.stack([first, first])[None]) == 0
    assert head_distance(torch.stack([first, second])[None]) == pytest.approx(2 / 3)
    assert head_distance(torch.stack([first, torch.full((3, 4), 0.25)])[None]) == pytest.approx(0.75)
    assert head_distance(torch.stack([first, first, second])[None]) == pytest.approx(4 / 9)  # two of three pairs differ
    assert head_distance(first[None, None]) == 0  # a single head


def test_the_neighbours_are_those_of_the_marked_place() -> None:
    source, place, neighbours = draw(50, torch.Generator().manual_seed(1))
    assert source.shape == (50, LENGTH) and neighbours.shape == (50, len(OFFSETS))
    for row, at, around in zip(source.tolist(), place.tolist(), neighbours.tolist(), strict=True):
        assert [letter >= LETTERS for letter in row] == [index == at for index in range(LENGTH)]
        assert around == [row[at + offset] for offset in OFFSETS]


def test_heads_cost_nothing_and_residuals_can_be_left_out() -> None:
    sizes = {sum(p.numel() for p in Namer(EncoderStack(1, heads, 1, 1)).parameters()) for heads in (1, 2, 4, 8)}
    assert len(sizes) == 1
    assert not Namer(EncoderStack(2, 1, 1, 1, residuals=False)).encoder.layers[0].self_residual.connected
