"""Output layers for decoding: with packed weights, for the tokens of a shortlist, averaged over an ensemble."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels.packed_linear import PackedLinear
from regard.nn.copying import CopyOutput, mix
from regard.nn.embedding import Output


class OutputLayer(Protocol):
    """What searches know of the last layer: features (B, T, E) → logits (B, T, V)."""

    def __call__(self, features: Tensor) -> Tensor: ...

    def select(self, ids: Tensor) -> OutputLayer:
        """The same layer for these tokens only."""
        ...

    @property
    def width(self) -> int:
        """E."""
        ...

    @property
    def size(self) -> int:
        """Numbers that a row of features is multiplied by."""
        ...


@dataclass(frozen=True)
class LinearOutput:
    """x Wᵀ + b."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, layer: Output | nn.Linear) -> Self:
        return cls(layer.weight, layer.bias)

    def __call__(self, features: Tensor) -> Tensor:
        return F.linear(features, self.weight, self.bias)

    def select(self, ids: Tensor) -> LinearOutput:
        return LinearOutput(self.weight.index_select(0, ids), self.bias.index_select(0, ids))

    @property
    def width(self) -> int:
        return self.weight.shape[1]

    @property
    def size(self) -> int:
        return self.weight.numel() + self.bias.numel()


@dataclass(frozen=True)
class PackedOutput(LinearOutput):
    """With packed weights. A shortlist of it is not packed: that would take longer than its few products save."""

    linear: PackedLinear

    @classmethod
    @torch.no_grad()
    def of(cls, layer: Output | nn.Linear) -> Self:
        return cls(layer.weight.detach(), layer.bias.detach(), PackedLinear.of(layer.weight, layer.bias))

    def __call__(self, features: Tensor) -> Tensor:
        return self.linear(features.flatten(0, 1)).unflatten(0, features.shape[:2])


@dataclass(frozen=True)
class MixedOutput:
    """Generating and copying together: the output layer of features that a Pointer made."""

    generate: OutputLayer
    entries: int  # V of the whole vocabulary
    ids: Tensor | None = None  # of the tokens of a shortlist

    def __call__(self, features: Tensor) -> Tensor:
        states, gate, copied = features.split([self.generate.width, 1, self.entries], dim=-1)
        return mix(self.generate(states), gate, copied if self.ids is None else copied.index_select(-1, self.ids))

    def select(self, ids: Tensor) -> MixedOutput:
        return MixedOutput(self.generate.select(ids), self.entries, ids)

    @property
    def width(self) -> int:
        return self.generate.width + 1 + self.entries

    @property
    def size(self) -> int:
        return self.generate.size


def output_of(layer: Output | CopyOutput | nn.Linear, packed: bool = False) -> OutputLayer:
    """A model's output layer as searches know it."""
    if isinstance(layer, CopyOutput):
        return MixedOutput(output_of(layer.output, packed), len(layer.output.weight))
    return PackedOutput.of(layer) if packed else LinearOutput.of(layer)


@dataclass(frozen=True)
class AveragedOutput:
    """log 1/M Σ_m softmax(logits_m): the mean of the probabilities of several output layers."""

    layers: Sequence[OutputLayer]

    def __call__(self, features: Tensor) -> Tensor:
        """The features of all members side by side, (B, T, ΣE) → (B, T, V)."""
        members = features.split([layer.width for layer in self.layers], dim=-1)
        log_probs = (layer(member).log_softmax(-1) for layer, member in zip(self.layers, members, strict=True))
        return reduce(torch.logaddexp, log_probs) - math.log(len(self.layers))  # never more than two of them in memory

    def select(self, ids: Tensor) -> AveragedOutput:
        return AveragedOutput([layer.select(ids) for layer in self.layers])

    @property
    def width(self) -> int:
        return sum(layer.width for layer in self.layers)

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)
