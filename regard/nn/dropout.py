"""Dropout from bytes: eight decisions out of one 64-bit draw, a tenth of what a Bernoulli draw each costs on a CPU.

The probability is rounded to a 256th, and what is kept is scaled by exactly that, so that the mean stays. The decisions
are written as numbers at once: a multiplication by booleans would convert them again each time, and that costs more
than the draw.
"""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 256  # values of a byte


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Each value is 0 with this probability, else scaled up to keep the mean; the identity outside training."""
    return values * _mask(values, probability) if training and probability else values


def add_dropped(states: Tensor, change: Tensor, probability: float, training: bool) -> Tensor:
    """states + dropout(change) in one pass."""
    if training and probability:
        return torch.addcmul(states, change, _mask(change, probability))
    return states + change


def _mask(values: Tensor, probability: float) -> Tensor:
    """0 where a value is dropped, elsewhere what keeps the mean."""
    dropped = min(max(round(probability * STEPS), 1), STEPS - 1)
    count = values.numel()
    draws = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device).random_(-(2**63), None)
    mask = torch.empty(values.shape, dtype=values.dtype, device=values.device)
    torch.ge(draws.view(torch.uint8)[:count].view(values.shape), dropped, out=mask)
    return mask.mul_(STEPS / (STEPS - dropped))
