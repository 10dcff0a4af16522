"""The gated convolution against an explicit loop."""

from __future__ import annotations

import pytest
import torch

from regard.nn.convolution import GatedConvolution

B, T, D = 2, 6, 3


def by_hand(module: GatedConvolution, x: torch.Tensor, kernel: int, first: int) -> torch.Tensor:
    """A ⊙ σ(B); tap k of the kernel reads position t + first + k, zero beyond the edges."""
    weight, bias = module.convolution.weight, module.convolution.bias  # (2D, D, kernel)
    result = torch.zeros(B, T, D)
    for b in range(B):
        for t in range(T):
            channels = bias.clone()
            for k in range(kernel):
                if 0 <= t + first + k < T:
                    channels = channels + weight[:, :, k] @ x[b, t + first + k]
            result[b, t] = channels[:D] * torch.sigmoid(channels[D:])
    return result


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("causal", [False, True])
def test_a_gated_convolution_is_its_loop(kernel: int, causal: bool) -> None:
    torch.manual_seed(kernel)
    module, x = GatedConvolution(D, kernel, causal), torch.randn(B, T, D)
    first = -(kernel - 1) if causal else -((kernel - 1) // 2)
    assert torch.allclose(module(x), by_hand(module, x, kernel, first), atol=1e-5)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_what_came_before_continues(kernel: int) -> None:
    torch.manual_seed(kernel)
    module, x = GatedConvolution(D, kernel, causal=True), torch.randn(B, T, D)
    whole = module(x)
    padded = torch.cat((torch.zeros(B, kernel - 1, D), x), dim=1)
    for t in range(T):
        assert torch.allclose(module(x[:, t : t + 1], padded[:, t : t + kernel - 1])[:, 0], whole[:, t], atol=1e-5)


def test_a_causal_convolution_never_sees_the_future() -> None:
    torch.manual_seed(0)
    module, x = GatedConvolution(D, 3, causal=True), torch.randn(B, T, D)
    changed = x.clone()
    changed[:, 4] += 1
    difference = (module(x) - module(changed)).abs().amax((0, 2))
    assert difference[:4].eq(0).all() and difference[4:].gt(0).all()
