"""The loss from features, a few rows at a time, against the plain one from all logits."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from regard.kernels import output_loss as module
from regard.training.loss import cross_entropy, output_loss


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 10**9])
def test_it_is_the_plain_loss(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and every gradient, in one chunk of rows or in many; padding of the features has no gradient at all."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    generator = torch.Generator().manual_seed(1)
    rows, width, size = 90, 4, 11
    features = torch.randn(2, rows, width, generator=generator, dtype=torch.double, requires_grad=True)
    weight = torch.randn(size, width, generator=generator, dtype=torch.double, requires_grad=True)
    bias = torch.randn(size, generator=generator, dtype=torch.double, requires_grad=True)
    target = torch.randint(0, size, (2, rows), generator=generator)
    mask = torch.arange(rows) < torch.tensor([rows, 40]).unsqueeze(1)
    slow = cross_entropy(F.linear(features, weight, bias), target, mask, smoothing)
    fast = output_loss(features, weight, bias, target, mask, smoothing)
    torch.testing.assert_close(fast.smoothed, slow.smoothed)
    torch.testing.assert_close(fast.nll, slow.nll)
    expected = torch.autograd.grad(3 * slow.smoothed, (features, weight, bias))
    gradients = torch.autograd.grad(3 * fast.smoothed, (features, weight, bias))
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert not fast.nll.requires_grad and not gradients[0][~mask].any()


def test_a_probability_too_small_for_a_float_has_its_logarithm() -> None:
    """Of one row in two; and the gradient of a sum is that of the mean, as often as there are rows."""
    features = torch.tensor([[[1.0], [0.0]]], requires_grad=True)
    weight = torch.tensor([[500.0], [0.0]], requires_grad=True)
    loss = output_loss(features, weight, torch.zeros(2), torch.tensor([[1, 1]]), torch.ones(1, 2, dtype=torch.bool))
    assert float(loss.nll) == pytest.approx((500 + math.log(2)) / 2)
    (2 * loss.smoothed).backward()
    torch.testing.assert_close(features.grad, torch.tensor([[[500.0], [250.0]]]))
    torch.testing.assert_close(weight.grad, torch.tensor([[1.0], [-1.0]]))
