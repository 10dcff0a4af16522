"""Weights made ready for a search, which multiplies few rows by them, many times: y = x Wᵀ + b.

A row by a transposed copy takes down to half of the time, and several rows by what oneDNN packs down to a seventh: what
torch multiplies by else is made for many rows (LOG.md).
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


@dataclass(frozen=True)
class Product:
    """x ↦ x Wᵀ + b, by copies of W as it is now."""

    weight: Tensor  # (out, in)
    bias: Tensor | None
    table: Tensor | None  # (in, out), for one row, or for all where nothing is packed
    packed: Tensor | None  # as oneDNN would have it, for several

    @classmethod
    @torch.no_grad()
    def of(cls, weight: Tensor, bias: Tensor | None = None, lasting: bool = True) -> Self:
        """`lasting`: it will serve so many rows that a transposed copy is worth its making."""
        weight, bias = weight.detach(), None if bias is None else bias.detach()
        return cls(weight, bias, transposed(weight) if lasting else None, _packed(weight))

    def __call__(self, rows: Tensor) -> Tensor:
        """(R, in) → (R, out)."""
        if self.packed is not None and len(rows) > 1:
            return torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")
        if self.table is None:
            return F.linear(rows, self.weight, self.bias)
        return torch.mm(rows, self.table) if self.bias is None else torch.addmm(self.bias, rows, self.table)


def transposed(weight: Tensor) -> Tensor:
    """(out, in) → (in, out), standing so."""
    return weight.t().contiguous()


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
    rows, weight = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        found = torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return torch.allclose(found, F.linear(rows, weight))
