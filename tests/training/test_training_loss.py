"""The loss against torch's own, and against padding."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from regard.training import loss as module
from regard.training.loss import cross_entropy, output_loss

B, T, V = 3, 5, 7


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(B, T, V, generator=generator, dtype=torch.double)
    target = torch.randint(0, V, (B, T), generator=generator)
    mask = torch.arange(T) < torch.tensor([5, 2, 3]).unsqueeze(1)
    return logits, target, mask


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_equals_torch(smoothing: float) -> None:
    logits, target, mask = batch()
    logits.requires_grad_()
    ours = cross_entropy(logits, target, mask, smoothing)
    (gradient,) = torch.autograd.grad(ours.smoothed, logits)
    theirs = F.cross_entropy(logits[mask], target[mask], label_smoothing=smoothing)
    (expected,) = torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(ours.smoothed, theirs)
    torch.testing.assert_close(gradient, expected)
    torch.testing.assert_close(ours.nll, F.cross_entropy(logits[mask], target[mask]).detach())
    assert not ours.nll.requires_grad


def test_the_formula_by_hand() -> None:
    """Two words, logits log 3 and 0: p = (3/4, 1/4); ε = 0.2 takes 0.1 of the mass to each."""
    logits = torch.tensor([[[3.0, 1.0]]]).log()
    loss = cross_entropy(logits, torch.tensor([[0]]), torch.tensor([[True]]), 0.2)
    p = torch.tensor([0.75, 0.25])
    torch.testing.assert_close(loss.smoothed, -(0.9 * p[0].log() + 0.1 * p[1].log()))
    torch.testing.assert_close(loss.nll, -p[0].log())


def test_padding_adds_nothing() -> None:
    logits, target, mask = batch()
    before = cross_entropy(logits, target, mask, 0.1)
    changed = torch.where(mask.unsqueeze(-1), logits, 100 * torch.randn(B, T, V, dtype=torch.double))
    after = cross_entropy(changed, torch.where(mask, target, 0), mask, 0.1)
    assert torch.equal(before.smoothed, after.smoothed) and torch.equal(before.nll, after.nll)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 10**9])
def test_in_chunks_it_is_the_same(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    found = torch.autograd.grad(3 * fast.smoothed, (features, weight, bias))
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert not fast.nll.requires_grad and not found[0][~mask].any()


def test_a_probability_too_small_for_a_float_has_its_logarithm() -> None:
    """Of one row in two; and the gradient of a sum is that of the mean, as often as there are rows."""
    features = torch.tensor([[[1.0], [0.0]]], requires_grad=True)
    weight = torch.tensor([[500.0], [0.0]], requires_grad=True)
    loss = output_loss(features, weight, torch.zeros(2), torch.tensor([[1, 1]]), torch.ones(1, 2, dtype=torch.bool))
    assert float(loss.nll) == pytest.approx((500 + math.log(2)) / 2)
    (2 * loss.smoothed).backward()
    torch.testing.assert_close(features.grad, torch.tensor([[[500.0], [250.0]]]))
    torch.testing.assert_close(weight.grad, torch.tensor([[1.0], [-1.0]]))
