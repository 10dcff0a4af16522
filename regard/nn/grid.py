"""Convolution over an image: residual blocks whose norm depends on neither the batch nor other places.

Pixels and features are (B, C, H, W) in torch's channels-last layout, the faster one on a CPU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PlaceNorm(nn.Module):
    """Layer norm over the channels of each place: (B, C, H, W) → (B, C, H, W)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, features: Tensor) -> Tensor:
        return self.norm(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def halving(channels_in: int, channels: int) -> nn.Conv2d:
    """A convolution that halves the sides: its even kernel centres each output on the four places that it stands for.

    An odd one would shift the grid by half a place, and attention maps would lie beside the objects.
    """
    return nn.Conv2d(channels_in, channels, 4, stride=2, padding=1)


class ResidualBlock(nn.Module):
    """x + conv(relu(norm(conv(relu(norm(x))))))  (He 2016, full pre-activation); `halved` also halves the sides."""

    def __init__(self, channels_in: int, channels: int, halved: bool = False) -> None:
        super().__init__()
        assert halved or channels_in == channels, "what is added to the input has its shape"
        self.first_norm = PlaceNorm(channels_in)
        self.first = halving(channels_in, channels) if halved else nn.Conv2d(channels_in, channels, 3, padding=1)
        self.second_norm = PlaceNorm(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(channels_in, channels, 1) if halved else None

    def forward(self, features: Tensor) -> Tensor:
        change = self.first(F.relu(self.first_norm(features)))
        change = self.second(F.relu(self.second_norm(change)))
        return change + (features if self.shortcut is None else self.shortcut(F.avg_pool2d(features, 2)))


def augment(pixels: Tensor, amount: float) -> Tensor:
    """Each image (B, C, H, W) a little moved, scaled, turned and tinted, drawn from torch's generator.

    What a caption says stays true: nothing is mirrored, no more than `amount` of a side is lost, and colours keep their
    names. Beyond the edge the edge goes on.
    """
    batch = pixels.shape[0]
    draws = 2 * torch.rand(batch, 4 + 2 * pixels.shape[1], device=pixels.device) - 1
    scale, turn = 1 + amount * draws[:, 0], amount * draws[:, 1]
    rotation = torch.stack((turn.cos(), -turn.sin(), turn.sin(), turn.cos()), dim=1).view(batch, 2, 2)
    matrix = torch.cat((rotation * scale[:, None, None], amount * draws[:, 2:4, None]), dim=2)  # (B, 2, 3)
    grid = F.affine_grid(matrix, list(pixels.shape), align_corners=False)
    moved = F.grid_sample(pixels, grid, padding_mode="border", align_corners=False)
    contrast, brightness = draws[:, 4:, None, None].chunk(2, dim=1)
    return moved * (1 + amount * contrast) + amount * brightness
