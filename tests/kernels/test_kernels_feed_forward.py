"""The feed-forward layer as one node against the plain one."""

from __future__ import annotations

import pytest
import torch

from regard.kernels.feed_forward import FusedFeedForward
from regard.kernels.fusion import fuse
from regard.nn.blocks import FeedForward

T, D, F = 3, 4, 6


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("batch", [5, 0])
@pytest.mark.parametrize("frozen", [True, False])
def test_it_is_the_plain_one(dropout: float, training: bool, batch: int, frozen: bool) -> None:
    """Value and every gradient, with the same values dropped, of inputs that are not contiguous; frozen weights too."""
    torch.manual_seed(5)
    layer = fuse(FeedForward(D, F, "relu", dropout)).double().train(training)
    layer.inner_proj.requires_grad_(not frozen)
    x = torch.randn(T, batch, D, dtype=torch.double).transpose(0, 1).requires_grad_()
    gradient = torch.randn(batch, D, T, dtype=torch.double).mT
    inputs = (x, *(parameter for parameter in layer.parameters() if parameter.requires_grad))
    torch.manual_seed(6)
    fused = layer(x)
    torch.manual_seed(6)
    plain = FeedForward.forward(layer, x)
    assert isinstance(layer, FusedFeedForward) and type(fused.grad_fn) is not type(plain.grad_fn)
    torch.testing.assert_close(fused, plain)
    expected = torch.autograd.grad(plain, inputs, gradient)
    for ours, theirs in zip(torch.autograd.grad(fused, inputs, gradient), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("activation", ["gelu", "silu", "tanh"])
def test_other_activations_are_computed_plainly(activation: str) -> None:
    layer, x = fuse(FeedForward(D, F, activation, 0.0)), torch.randn(2, T, D)
    assert torch.equal(layer(x), FeedForward.forward(layer, x))
