"""Ids to vectors and vectors to logits, with one table for both where they are tied (Press & Wolf 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels.dropout import dropout
from regard.kernels.packed_linear import Product


class Embedding(nn.Module):
    """√D · table[id], the table drawn with variance 1/D: vectors come out with unit variance, ties give unit logits."""

    def __init__(self, size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, width).normal_(0, width**-0.5))
        self.dropout = dropout

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) → (B, T, D)."""
        return dropout(self.plain(ids), self.dropout, self.training)

    def plain(self, ids: Tensor) -> Tensor:
        """Without dropout: (…) → (…, D)."""
        return F.embedding(ids, self.weight) * math.sqrt(self.weight.shape[1])


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

    def only(self, ids: Tensor) -> Narrowed:
        """The same for these tokens alone."""
        return Narrowed(self.weight, self.bias).only(ids)


@dataclass(frozen=True)
class Narrowed:
    """An output layer of some of the tokens, made of another's."""

    weight: Tensor
    bias: Tensor

    def __call__(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, their number)."""
        return F.linear(states, self.weight, self.bias)

    def only(self, ids: Tensor) -> Narrowed:
        return Narrowed(self.weight.index_select(0, ids), self.bias.index_select(0, ids))


@dataclass(frozen=True)
class Ready(Narrowed):
    """An output layer for a search, as the weights are now. A part of it serves too short to be made ready."""

    product: Product

    @classmethod
    @torch.no_grad()
    def of(cls, layer: Output) -> Self:
        return cls(layer.weight.detach(), layer.bias.detach(), Product.of(layer.weight, layer.bias))

    def __call__(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, V)."""
        return self.product(states.flatten(0, 1)).unflatten(0, states.shape[:2])


@dataclass(frozen=True)
class Mixture:
    """log 1/M Σ_m softmax(logits_m): the mean of what several output layers find probable."""

    layers: Sequence[Output | Narrowed]

    def __call__(self, states: Tensor) -> Tensor:
        """The states of all side by side, (B, T, ΣD) → (B, T, V)."""
        parts = states.split([layer.weight.shape[1] for layer in self.layers], dim=-1)
        found = (layer(part).log_softmax(-1) for layer, part in zip(self.layers, parts, strict=True))
        return reduce(torch.logaddexp, found) - math.log(len(self.layers))  # never all of them at once

    def only(self, ids: Tensor) -> Mixture:
        """The same for these tokens alone."""
        return Mixture([layer.only(ids) for layer in self.layers])


def output_size(layer: nn.Module | Narrowed | Mixture) -> int:
    """Numbers that a row of features is multiplied by, or those of all members."""
    if isinstance(layer, Mixture):
        return sum(map(output_size, layer.layers))
    if isinstance(layer, Narrowed):
        return layer.weight.numel() + layer.bias.numel()
    return sum(one.numel() for one in layer.parameters())
