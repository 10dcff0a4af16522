"""Dropout from bytes: eight decisions out of one 64-bit draw, a tenth of what a Bernoulli draw each costs on a CPU.

The probability is rounded to a 256th, and what is kept is scaled by exactly that, so that the mean stays. The decisions
are written as numbers at once: a multiplication by booleans would convert them again each time, and that costs more
than the draw. The scale enters where they are used, in the same pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

STEPS = 256  # values of a byte


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Each value is 0 with this probability, else scaled up to keep the mean; the identity outside training."""
    return _Dropped.apply(values, *decisions(values, probability)) if training and probability else values


def add_dropped(states: Tensor, change: Tensor, probability: float, training: bool) -> Tensor:
    """states + dropout(change) in one pass."""
    if training and probability:
        return _AddDropped.apply(states, change, *decisions(change, probability))
    return states + change


def decisions(values: Tensor, probability: float) -> tuple[Tensor, float]:
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
