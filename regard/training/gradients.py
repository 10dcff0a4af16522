"""Gradient clipping by the norm of all gradients together (Pascanu 2013)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


@torch.no_grad()
def clip_gradients(parameters: Iterable[nn.Parameter], limit: float, divisor: int = 1) -> float:
    """Divide the gradients, scale them so that their norm is at most `limit`, and return the norm before scaling.

    As `torch.nn.utils.clip_grad_norm_`, and equal to the bit where the divisor is 1.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return 0.0
    norm = torch.nn.utils.get_total_norm(gradients) / divisor
    factor = float((limit / (norm + 1e-6)).clamp(max=1.0) / divisor)
    if factor != 1:
        torch._foreach_mul_(gradients, factor)
    return float(norm)
