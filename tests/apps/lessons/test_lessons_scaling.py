"""The closed forms behind the lesson on 1/√d."""

from __future__ import annotations

import math

import pytest
import torch

from regard.apps.lessons.scaling import ENTROPY, GRADIENT, MEAN_GRADIENT, entropy, jacobian_norm, theory, top_gap


def test_the_norm_is_that_of_the_jacobian() -> None:
    scores = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 3
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    assert jacobian_norm(scores.softmax(-1)).item() == pytest.approx(jacobian.norm().item(), rel=1e-12)


def test_entropy_between_certain_and_uniform() -> None:
    assert entropy(torch.tensor([1.0, 0.0, 0.0])).item() == 0
    assert entropy(torch.full((5,), 0.2)).item() == pytest.approx(math.log(5))


def test_the_gap_of_two_is_known() -> None:
    """The difference of two normal numbers is normal with deviation √2; the gap is its absolute value."""
    density, median = top_gap(2)
    assert density == pytest.approx(2 / math.sqrt(4 * math.pi), rel=1e-6)
    assert median == pytest.approx(0.6744898 * math.sqrt(2), rel=1e-6)


def test_the_theory_is_the_limit_of_large_deviations() -> None:
    keys, width = 16, 10**4
    scores = torch.randn(200_000, keys, generator=torch.Generator().manual_seed(1)) * math.sqrt(width)
    weights, expected = scores.softmax(-1), theory(keys, width)
    assert entropy(weights).mean().item() == pytest.approx(expected[ENTROPY], rel=0.05)
    assert jacobian_norm(weights).mean().item() == pytest.approx(expected[MEAN_GRADIENT], rel=0.05)
    assert math.log(jacobian_norm(weights.double()).median().item()) == pytest.approx(
        math.log(expected[GRADIENT]), rel=0.02
    )
