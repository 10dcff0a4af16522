"""Weights made ready for a search, which multiplies few rows by them, many times: y = x Wᵀ + b.

A row by a transposed copy takes down to half of the time, and several rows by what oneDNN packs down to a seventh: what
torch multiplies by else is made for many rows (LOG.md). But oneDNN thinks for some milliseconds about every number of
rows that it has not met: so rows come in few numbers, filled up with noughts.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

LARGE = 2**18  # numbers of a matrix from which on packing pays
FEW = (5, 8, 16)  # numbers of rows; beyond them by whole thirty-twos
MANY = 32


@dataclass(frozen=True)
class Product:
    """x ↦ x Wᵀ + b, by copies of W as it is now."""

    bias: Tensor
    table: Tensor  # (in, out), for a row or two, or for all where nothing is packed
    packed: Tensor | None  # as oneDNN would have it

    @classmethod
    @torch.no_grad()
    def of(cls, weight: Tensor, bias: Tensor) -> Self:
        return cls(bias.detach(), transposed(weight.detach()), _packed(weight.detach()))

    def __call__(self, rows: Tensor) -> Tensor:
        """(R, in) → (R, out)."""
        if self.packed is None or len(rows) <= 2:
            return torch.addmm(self.bias, rows, self.table)
        filled = F.pad(rows, (0, 0, 0, filled_up(len(rows)) - len(rows)))
        return torch.ops.mkldnn._linear_pointwise(filled, self.packed, self.bias, "none", [], "")[: len(rows)]


def transposed(weight: Tensor) -> Tensor:
    """(out, in) → (in, out), standing so: a product with a row or a few takes down to half of the time (LOG.md)."""
    return weight.t().contiguous()


def filled_up(rows: int) -> int:
    """The next number of rows that oneDNN is asked for."""
    return next((few for few in FEW if rows <= few), -(-rows // MANY) * MANY)


def _packed(weight: Tensor) -> Tensor | None:
    """None where it is small, or where torch cannot do this."""
    if weight.numel() < LARGE or weight.dtype != torch.float32 or weight.device.type != "cpu" or not _can_pack():
        return None
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())


@cache
def _can_pack() -> bool:
    """Whether this torch has, and this processor does, what torch's own compiler uses: operations that torch promises
    nobody, so they are tried."""
    if not torch.backends.mkldnn.is_available() or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    rows, weight, bias = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3), torch.arange(4.0)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        found = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return torch.allclose(found, F.linear(rows, weight, bias))
