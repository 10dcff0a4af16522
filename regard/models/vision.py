"""Encoders of images. Their memory is a grid of P cells, from left to right, then down; any decoder attends to it.

    grid      convolutions and residual blocks, 8 × 8 pixels to a cell (Xu 2015, 3.1.1, but trained from scratch)
    patches   8 × 8 pixels become a vector each, then a Transformer (Dosovitskiy 2021, 3.1)

The source is a row of bytes (B, 1 + 3·H·W): the word that goes with the image (0: none), then its pixels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.seq2seq import Encoder, Memory
from regard.models.transformer import EncoderLayer, LayerShape
from regard.nn.grid import PlaceNorm, ResidualBlock, augment, halving
from regard.nn.layers import Layers
from regard.nn.masks import key_mask
from regard.nn.positions import plane_sinusoid
from regard.nn.taps import Tap


class Canvas(nn.Module):
    """Bytes → pixels in [-1, 1], augmented in training; and the vectors of the cells' positions and of the word."""

    def __init__(self, words: int, width: int, side: int, cell: int, augment: float) -> None:
        super().__init__()
        self.side = side
        self.augment = augment
        self.cells = (side // cell) ** 2
        self.positions = nn.Parameter(torch.empty(self.cells, width).normal_(0, 0.1))
        self.words = nn.Parameter(torch.empty(words, width).normal_(0, 0.1)) if words > 1 else None

    def forward(self, source: Tensor) -> Tensor:
        """(B, 1 + 3·H·W) → (B, 3, H, W), channels last."""
        pixels = source[:, 1:].view(-1, self.side, self.side, 3).permute(0, 3, 1, 2)
        pixels = pixels.to(self.positions.dtype) / 127.5 - 1
        return augment(pixels, self.augment) if self.training and self.augment else pixels

    def add_positions(self, states: Tensor, source: Tensor) -> Tensor:
        """States (B, P, D) with the vectors of their positions and of the word added."""
        states = states + self.positions
        return states if self.words is None else states + self.words[source[:, 0].long()][:, None]

    def memory(self, states: Tensor) -> Memory:
        """Every cell is real; the summary is the mean of the grid (Xu 2015, 3.1.2)."""
        return Memory(states, torch.ones(states.shape[:2], dtype=torch.bool, device=states.device), states.mean(1))


class GridEncoder(Encoder):
    """Two convolutions and two stages of residual blocks halve the sides three times; `depth` blocks follow."""

    def __init__(self, canvas: Canvas, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.dropout = nn.Dropout(dropout)
        self.canvas = canvas
        self.first = halving(3, width // 4)
        self.second = halving(width // 4, width // 2)
        self.near = ResidualBlock(width // 2, width // 2)
        self.wide = ResidualBlock(width // 2, width, halved=True)
        self.layers = Layers[ResidualBlock](ResidualBlock(width, width) for _ in range(depth))
        self.norm = PlaceNorm(width)
        self.states = Tap()

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        features = self.second(F.relu(self.first(self.canvas(source))))
        features = self.wide(self.near(features))  # (B, D, H/8, W/8)
        side = features.shape[2]
        states = self.canvas.add_positions(features.permute(0, 2, 3, 1).flatten(1, 2), source)  # (B, P, D)
        features = states.unflatten(1, (side, side)).permute(0, 3, 1, 2)
        for layer in self.layers:
            features = layer(features)
        states = self.norm(features).permute(0, 2, 3, 1).flatten(1, 2)
        return self.canvas.memory(self.dropout(self.states(states)))


class ConvolutionStem(nn.Module):
    """Three convolutions halve the sides three times: a cell's vector knows its neighbours' pixels, and training is
    steadier than with one large matrix (Xiao 2021, section 3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = halving(3, width // 4)
        self.first_norm = PlaceNorm(width // 4)
        self.second = halving(width // 4, width // 2)
        self.second_norm = PlaceNorm(width // 2)
        self.third = halving(width // 2, width)

    def forward(self, pixels: Tensor) -> Tensor:
        """(B, 3, H, W) → (B, P, D)."""
        features = F.relu(self.first_norm(self.first(pixels)))
        features = F.relu(self.second_norm(self.second(features)))
        return self.third(features).permute(0, 2, 3, 1).flatten(1, 2)


class LinearStem(nn.Module):
    """W patch: one matrix for the pixels of a cell (Dosovitskiy 2021, equation 1)."""

    def __init__(self, width: int, cell: int) -> None:
        super().__init__()
        self.cell = cell
        self.patch_proj = nn.Linear(3 * cell * cell, width)

    def forward(self, pixels: Tensor) -> Tensor:
        """(B, 3, H, W) → (B, P, D)."""
        return self.patch_proj(F.unfold(pixels, self.cell, stride=self.cell).transpose(1, 2))


class PatchEncoder(Encoder):
    """x_p = stem(pixels)_p + position_p, then the layers of a Transformer encoder.

    The positions are learned from a start in which half of the numbers tell the row and half the column: near cells
    have like vectors, as in `plane_sinusoid`.
    """

    def __init__(self, canvas: Canvas, shape: LayerShape, stem: LinearStem | ConvolutionStem, depth: int) -> None:
        super().__init__()
        self.width = shape.width
        self.canvas = canvas
        side = int(canvas.cells**0.5)
        canvas.positions.data.copy_(plane_sinusoid(side, shape.width))
        self.stem = stem
        self.layers = Layers[EncoderLayer](EncoderLayer(shape) for _ in range(depth))
        self.norm = shape.last_norm()
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        states = self.canvas.add_positions(self.stem(self.canvas(source)), source)
        states = self.dropout(states)
        mask = key_mask(torch.ones(states.shape[:2], dtype=torch.bool, device=states.device))
        for layer in self.layers:
            states = layer(states, mask)
        return self.canvas.memory(self.norm(states))
