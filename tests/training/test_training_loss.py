"""The loss against torch's own, and against padding."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from regard.training.loss import cross_entropy

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
