"""Dropout from bytes: eight values out of one 64-bit draw, a tenth of the cost of Bernoulli draws on a CPU.

The probability is rounded to a 256th, and the values kept are scaled by exactly that, so that the mean stays. The mask
is of floats: a multiplication by booleans would convert them each time, which costs more than the draw. The scale is
applied in the same pass as the mask: docs/experiments/training-speed.md#what-each-fused-layer-saves
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.blocks import Residual

STEPS = 256  # values of a byte


class FusedDropout(nn.Dropout):
    """Each value is 0 with probability p, else scaled up to keep the mean; the identity outside training."""

    def forward(self, input: Tensor) -> Tensor:
        return _Dropped.apply(input, *keep_mask(input, self.p)) if self.training and self.p else input


class FusedResidual(Residual):
    """Dropout and addition in one pass."""

    def add(self, states: Tensor, change: Tensor) -> Tensor:
        if not self.connected:
            return super().add(states, change)
        if self.training and self.dropout.p:
            return _AddDropped.apply(states, change, *keep_mask(change, self.dropout.p))
        return states + change


def keep_mask(values: Tensor, probability: float) -> tuple[Tensor, float]:
    """0 where a value is dropped, 1 where it is kept; and the scale that keeps the mean."""
    dropped = min(max(round(probability * STEPS), 1), STEPS - 1)
    count = values.numel()
    draws = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device).random_(-(2**63), None)
    kept = torch.empty(values.shape, dtype=values.dtype, device=values.device)
    torch.ge(draws.view(torch.uint8)[:count].view(values.shape), dropped, out=kept)
    return kept, STEPS / (STEPS - dropped)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return _scaled(values, kept, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        (kept,) = ctx.saved_tensors
        return _scaled(gradients[0], kept, ctx.scale), None, None


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, change: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return torch.addcmul(states, change, kept, value=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        (kept,) = ctx.saved_tensors
        return gradients[0], _scaled(gradients[0], kept, ctx.scale), None, None


def _scaled(values: Tensor, kept: Tensor, scale: float) -> Tensor:
    """values · kept · scale in one pass."""
    return torch.addcmul(values.new_zeros(()), values, kept, value=scale)
