"""Tiny models of every architecture with stirred weights, and a padded batch for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.config import plan_model, settle
from regard.inference.ensemble import Ensemble
from regard.kernels.fusion import fuse
from regard.models.build import build_model

SOURCE_SIZE, TARGET_SIZE = 9, 11
MEMBERS = ("transformer", "lstm-additive", "convolution")
SIZES = {"width": 12, "heads": 3, "ffn_width": 14, "max_positions": 40}


def stir(model: nn.Module, seed: int) -> None:
    """No bias stays zero and no norm neutral: what fresh weights would hide shows."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Any]:
    """tiny(preset, field=value, …) → a model in eval mode; tiny(None, …) starts from no preset; fresh: not stirred;
    fused=False: with plain layers. tiny("ensemble") is one of three families."""

    def make(
        preset: str | None,
        seed: int = 3,
        shared: bool = False,
        fresh: bool = False,
        fused: bool = True,
        **fields: Any,
    ) -> Any:
        if preset == "ensemble":
            return Ensemble([make(member, seed, shared, fresh, fused, **fields) for member in MEMBERS])
        model = {**SIZES, **fields} if preset is None else {"preset": preset, **SIZES, **fields}
        source_size = TARGET_SIZE if shared else SOURCE_SIZE
        built = build_model(plan_model(settle({"model": model}).model), source_size, TARGET_SIZE, shared, seed)
        if not fresh:
            stir(built, seed)
        return (fuse(built) if fused else built).eval()

    return make


@dataclass(frozen=True)
class Rows:
    source: Tensor  # (4, 7)
    mask: Tensor
    target: Tensor  # (4, 5)
    lengths: tuple[int, ...]


@pytest.fixture(scope="session")
def rows() -> Rows:
    generator = torch.Generator().manual_seed(0)
    lengths = (5, 7, 1, 3)
    mask = torch.arange(7)[None] < torch.tensor(lengths)[:, None]
    source = torch.randint(3, SOURCE_SIZE, (4, 7), generator=generator) * mask
    return Rows(source, mask, torch.randint(1, TARGET_SIZE, (4, 5), generator=generator), lengths)
