"""The distance of heads on weights for which it is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.apps.lessons.heads import head_distance, mirrored


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


def test_a_reversed_letter_is_aligned_with_its_mirror_image() -> None:
    aligned = mirrored(3)
    assert aligned.shape == (4, 4) and not aligned[3].any() and not aligned[:, 3].any()
    assert [int(row.nonzero()) for row in aligned[:3]] == [2, 1, 0]
