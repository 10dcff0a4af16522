"""How a model without recurrence knows the order: vectors joined to embeddings, rotations and slopes in attention."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn


def sinusoid(positions: Tensor, width: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(same)  (Vaswani 2017, 3.5): (…) → (…, D)."""
    pairs = torch.arange((width + 1) // 2, device=positions.device)
    angles = positions.unsqueeze(-1).float() * torch.exp(pairs * (-2 * math.log(10000.0) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :width]


def plane_sinusoid(side: int, width: int) -> Tensor:
    """Of the cells of a square, from left to right, then down: sinusoids of the row, then of the column (side², D)."""
    steps = torch.arange(side)
    rows = sinusoid(steps, width // 2)[:, None].expand(-1, side, -1)
    columns = sinusoid(steps, width - width // 2)[None].expand(side, -1, -1)
    return torch.cat((rows, columns), dim=-1).flatten(0, 1)


def rotations(positions: Tensor, width: int) -> Tensor:
    """cos + i sin of the angle p / 10000^(2i/K) for pair i of a head's numbers  (Su 2021, 3.2): (T,) → (T, K/2)."""
    sin, cos = sinusoid(positions, width).unflatten(-1, (-1, 2)).unbind(-1)
    return torch.complex(cos, sin)


def rotate(vectors: Tensor, positions: Tensor) -> Tensor:
    """Rotate each pair (2i, 2i+1) by p / 10000^(2i/K): (B, H, T, K) of float32 or float64, (T,) → (B, H, T, K).

    Dot products of rotated queries and keys depend on the distance of their positions only.
    """
    pairs = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotations(positions, vectors.shape[-1])).flatten(-2)


def alibi(heads: int, queries: Tensor, keys: Tensor) -> Tensor:
    """A penalty of slope_h · |distance| on scores, slope_h = 2^(-8h/H)  (Press 2022): (T,), (S,) → (1, H, T, S)."""
    slopes = torch.exp2(-8.0 * torch.arange(1, heads + 1, device=queries.device) / heads)
    distance = (queries[:, None] - keys[None, :]).abs()
    return -(slopes[:, None, None] * distance)[None]


class PositionalEmbedding(nn.Module):
    """Joins a vector for each position to the embeddings: added, multiplied, or concatenated and resized."""

    def __init__(
        self,
        kind: Literal["none", "learned", "sinusoidal"],
        combine: Literal["add", "multiply", "concatenate"],
        width: int,
        max_positions: int,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.combine = combine
        self.width = width
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, width).normal_(float(combine == "multiply"), 0.1))
        if kind != "none" and combine == "concatenate":
            self.resize_proj = nn.Linear(2 * width, width)

    def forward(self, embeddings: Tensor, start: int | Tensor = 0) -> Tensor:
        """Embeddings (B, T, D) whose first column stands at position `start`, one for all or one a row (B,)."""
        if self.kind == "none":
            return embeddings
        positions = torch.arange(embeddings.shape[1], device=embeddings.device)
        if isinstance(start, Tensor):
            positions = (positions[None] + start[:, None]).clamp_min(0)  # padding on the left counts as position 0
        else:
            positions = positions + start
        vectors = self.table[positions] if self.kind == "learned" else sinusoid(positions, self.width)
        if self.combine == "add":
            return embeddings + vectors
        if self.combine == "multiply":
            return embeddings * vectors
        return self.resize_proj(torch.cat((embeddings, vectors.expand_as(embeddings)), dim=-1))
