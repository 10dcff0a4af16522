"""Dropout from bytes: eight decisions out of one 64-bit draw, a tenth of what a Bernoulli draw each costs on a CPU.

The probability is rounded to a 256th, and what is kept is scaled by exactly that, so that the mean stays.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

STEPS = 256  # values of a byte


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Each value is 0 with this probability, else scaled up to keep the mean; the identity outside training."""
    if not training or probability == 0:
        return values
    dropped = min(max(round(probability * STEPS), 1), STEPS - 1)
    return _Dropout.apply(values, dropped)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, dropped: int) -> Tensor:
        count = values.numel()
        draws = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device).random_(-(2**63), None)
        kept = draws.view(torch.uint8)[:count].view(values.shape) >= dropped
        ctx.save_for_backward(kept)
        ctx.scale = STEPS / (STEPS - dropped)
        return (values * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (gradients[0] * kept).mul_(ctx.scale), None
