"""Convolution over images: sides halve without a shift, norms are local, augmentation is small and repeatable."""

from __future__ import annotations

import pytest
import torch

from regard.nn.grid import PlaceNorm, ResidualBlock, augment, halving


@pytest.mark.parametrize("halved", [False, True])
def test_a_block_keeps_or_halves_the_sides(halved: bool) -> None:
    block = ResidualBlock(6, 10 if halved else 6, halved)
    features = block(torch.randn(2, 6, 8, 8))
    assert features.shape == ((2, 10, 4, 4) if halved else (2, 6, 8, 8))


def test_halving_stays_in_place() -> None:
    """What is symmetric about the middle of the image stays so: an odd kernel would shift the grid."""
    torch.manual_seed(0)
    layer = halving(1, 1)
    with torch.no_grad():
        layer.weight.copy_(layer.weight + layer.weight.flip(-1))
    one = torch.randn(1, 1, 8, 8)
    assert torch.allclose(layer(one + one.flip(-1)), layer(one + one.flip(-1)).flip(-1), atol=1e-6)


def test_the_norm_of_a_place_depends_on_it_alone() -> None:
    norm = PlaceNorm(5)
    features = torch.randn(3, 5, 4, 6)
    changed = features.clone()
    changed[0, :, 1, 2] += torch.randn(5)
    different = (norm(changed) - norm(features)).abs().amax(1) > 1e-6
    assert different.nonzero().tolist() == [[0, 1, 2]]
    assert norm(features).mean(1).abs().max() < 1e-5


def test_a_block_learns_by_the_right_gradient() -> None:
    torch.manual_seed(1)
    block = ResidualBlock(2, 3, halved=True).double()
    assert torch.autograd.gradcheck(block, (torch.randn(2, 2, 4, 4, dtype=torch.double, requires_grad=True),))


def test_augmentation_is_drawn_from_the_seed_and_small() -> None:
    pixels = torch.rand(4, 3, 16, 16).mul_(0.2)
    pixels[:, :, 6:10, 6:10] = 0.9
    torch.manual_seed(3)
    one = augment(pixels, 0.1)
    torch.manual_seed(3)
    assert torch.equal(one, augment(pixels, 0.1)) and one.shape == pixels.shape
    assert not torch.equal(one, augment(pixels, 0.1))  # another draw
    assert not torch.equal(one[0] - pixels[0], one[1] - pixels[1])  # each image its own
    assert torch.allclose(augment(pixels, 0.0), pixels, atol=1e-4)
    bright = (one.mean(1) > 0.5).nonzero().float()[:, 1:]
    assert (bright.mean(0) - 7.5).abs().max() < 2  # what was in the middle still is
