"""Convolution over time with a gate: each position sees its neighbours."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class GatedConvolution(nn.Module):
    """A ⊙ σ(B) of a convolution with twice the channels (Dauphin 2017): (B, T, D) → (B, T, D).

    `causal` sees the token itself and kernel-1 before it; otherwise the kernel is centred.
    """

    def __init__(self, width: int, kernel: int, causal: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, 2 * width, kernel)
        self.past = kernel - 1 if causal else (kernel - 1) // 2
        self.future = kernel - 1 - self.past

    def forward(self, states: Tensor, before: Tensor | None = None) -> Tensor:
        """`before` (B, past, D) holds the tokens that came earlier; without it the past is zero."""
        if before is None:
            states = F.pad(states, (0, 0, self.past, self.future))
        else:
            states = F.pad(torch.cat((before, states), dim=1), (0, 0, 0, self.future))
        return F.glu(self.convolution(states.transpose(1, 2)), dim=1).transpose(1, 2)
