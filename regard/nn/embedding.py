"""Ids to vectors and vectors to logits, with one table for both where they are tied (Press & Wolf 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Embedding(nn.Module):
    """√D · table[id], the table drawn with variance 1/D: vectors come out with unit variance, ties give unit logits.

    zero: an id whose vector is zero, whatever its row is (in a tied table the row has logits to give).
    """

    def __init__(self, size: int, width: int, dropout: float, zero: int | None = None) -> None:
        super().__init__()
        self.zero = zero
        self.weight = nn.Parameter(torch.empty(size, width).normal_(0, width**-0.5))
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) → (B, T, D)."""
        return self.dropout(self.plain(ids))

    def plain(self, ids: Tensor) -> Tensor:
        """Without dropout: (…) → (…, D)."""
        vectors = F.embedding(ids, self.weight) * math.sqrt(self.weight.shape[1])
        return vectors if self.zero is None else vectors.masked_fill((ids == self.zero).unsqueeze(-1), 0)


class Output(nn.Module):
    """logits = x Eᵀ + b, where E is the target's embedding table or a table of its own."""

    def __init__(self, width: int, size: int, tied: Embedding | None = None) -> None:
        super().__init__()
        self.weight = (
            tied.weight if tied is not None else nn.Parameter(torch.empty(size, width).normal_(0, width**-0.5))
        )
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, V)."""
        return F.linear(states, self.weight, self.bias)
