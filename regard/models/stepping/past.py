"""What a Transformer that writes can look at: keys and values of the memory, and of the tokens so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.seq2seq import OF_SOURCE, State
from regard.nn.masks import key_mask

ROOM = 16  # tokens that are written before the first move into a larger room


@dataclass(frozen=True)
class Past(State, ABC):
    """It is gone on from once: what comes next is written into its room."""

    heads: int
    length: int  # tokens so far

    @abstractmethod
    def grown(self, tokens: int) -> Self:
        """With room for so many more tokens a row."""

    @abstractmethod
    def look_back(self, layer: int, product: Tensor, bias: Tensor | None) -> Tensor:
        """Queries, keys, values (R·T, 3·D) of the tokens that it has just grown by → contexts (R·T, D); keys and values
        are kept. bias: what is added to scores, (T, S)."""

    @abstractmethod
    def look_across(self, layer: int, asked: Tensor) -> Tensor:
        """Queries (R·T, D) → contexts (R·T, D)."""


@dataclass(frozen=True)
class Cache(Past):
    """Keys and values side by side, a row of them for each hypothesis."""

    past: Tensor  # (R, L, 2·H, room, K), of the tokens so far
    memory: Tensor = field(metadata=OF_SOURCE)  # (B, L, 2·H, S, K)
    absent: Tensor | None = field(metadata=OF_SOURCE)  # (B, 1, 1, S): nought, or -inf where there is padding

    @classmethod
    def begun(cls, memory: Tensor, mask: Tensor, heads: int) -> Self:
        """Keys and values (B, S, L, 2, D) and the mask (B, S)."""
        batch, length, layers = memory.shape[:3]
        each = memory.view(batch, length, layers, 2 * heads, -1).permute(0, 2, 3, 1, 4)
        nothing = memory.new_empty(batch, layers, 2 * heads, ROOM, each.shape[-1])
        absent = None
        if not bool(mask.all()):
            absent = key_mask(torch.zeros_like(mask, dtype=memory.dtype).masked_fill_(~mask, -torch.inf))
        return cls(heads, 0, nothing, each, absent)

    def grown(self, tokens: int) -> Self:
        after = self.length + tokens
        return replace(self, length=after, past=with_room(self.past, self.length, after))

    def look_back(self, layer: int, product: Tensor, bias: Tensor | None) -> Tensor:
        count, room = self.heads, self.past[:, layer, :, : self.length]
        heads = product.view(len(room), -1, 3 * count, room.shape[-1]).transpose(1, 2)  # (R, 3·H, T, K)
        room[:, :, -heads.shape[2] :] = heads[:, count:]
        context = F.scaled_dot_product_attention(heads[:, :count], room[:, :count], room[:, count:], bias)
        return context.transpose(1, 2).reshape(len(product), -1)

    def look_across(self, layer: int, asked: Tensor) -> Tensor:
        """Rows that stand together share a memory: theirs are asked as if they were one row's."""
        count, memory = self.heads, self.memory[:, layer]
        queries = asked.view(memory.shape[0], -1, count, memory.shape[-1]).transpose(1, 2)
        context = F.scaled_dot_product_attention(queries, memory[:, :count], memory[:, count:], self.absent)
        return context.transpose(1, 2).reshape(asked.shape)


def with_room(past: Tensor, before: int, after: int) -> Tensor:
    """The same, or the first `before` of it in twice the room or more."""
    if after <= past.shape[3]:
        return past
    larger = past.new_empty(*past.shape[:3], 2 ** (after - 1).bit_length(), past.shape[4])
    larger[:, :, :, :before] = past[:, :, :, :before]
    return larger
