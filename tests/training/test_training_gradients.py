"""Gradients are clipped as torch does."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.training.gradients import clip_gradients

SIZES = ((300, 7), (5,), (40, 40), (1,), (64, 3))


def parameters_with(gradients: list[Tensor | None]) -> list[nn.Parameter]:
    found = []
    for size, gradient in zip(SIZES, gradients, strict=True):
        parameter = nn.Parameter(torch.zeros(size))
        parameter.grad = None if gradient is None else gradient.clone()
        found.append(parameter)
    return found


def draw(seed: int) -> list[Tensor | None]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator) for size in SIZES]


@pytest.mark.parametrize("limit", [1.0, 1e6])
def test_clipped_as_torch_does_to_the_bit(limit: float) -> None:
    ours, theirs = parameters_with(draw(1)), parameters_with(draw(1))
    ours[1].grad = theirs[1].grad = None
    norm = clip_gradients(ours, limit)
    assert norm == float(nn.utils.clip_grad_norm_(theirs, limit))
    for one, other in zip(ours, theirs, strict=True):
        assert (one.grad is None and other.grad is None) or torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("limit", [1.0, 1e6])
def test_sums_become_means_before_they_are_clipped(limit: float) -> None:
    means = [one for one in draw(1) if one is not None]
    ours, theirs = parameters_with([one * 50 for one in means]), parameters_with([*means])
    assert clip_gradients(ours, limit, 50) == pytest.approx(float(nn.utils.clip_grad_norm_(theirs, limit)))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_nothing_to_clip_and_numbers_that_are_none() -> None:
    assert clip_gradients(parameters_with([None] * len(SIZES)), 1.0) == 0.0
    broken = draw(1)
    assert broken[0] is not None
    broken[0][3, 3] = torch.nan
    assert math.isnan(clip_gradients(parameters_with(broken), 1.0))
