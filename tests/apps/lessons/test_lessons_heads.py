"""How far heads are apart on weights whose answer is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.apps.lessons.heads import apart, mirrored


def looking(keys: list[int], size: int) -> Tensor:
    """One head (T, S) that looks at one key a query."""
    return torch.eye(size)[keys]


def test_heads_are_apart_by_the_weight_on_other_keys() -> None:
    first, second = looking([0, 1, 2], 4), looking([3, 1, 0], 4)
    assert apart(torch.stack([first, first])[None]) == 0
    assert apart(torch.stack([first, second])[None]) == pytest.approx(2 / 3)
    assert apart(torch.stack([first, torch.full((3, 4), 0.25)])[None]) == pytest.approx(0.75)
    assert apart(torch.stack([first, first, second])[None]) == pytest.approx(4 / 9)  # two of three pairs differ
    assert apart(first[None, None]) == 0  # one head has nobody to differ from


def test_a_reversed_letter_is_aligned_with_its_mirror_image() -> None:
    aligned = mirrored(3)
    assert aligned.shape == (4, 4) and not aligned[3].any() and not aligned[:, 3].any()
    assert [int(row.nonzero()) for row in aligned[:3]] == [2, 1, 0]
