"""A linear layer for decoding, where the same weights multiply a few rows, many times: y = x Wᵀ + b.

A row by a transposed copy takes down to half of the time, and several rows by oneDNN's packed weights down to a
seventh: torch's own product is made for many rows
(docs/experiments/decoding-speed.md#mkl-and-onednn-on-amd-with-avx-512). The price is that a large matrix is in memory
three times. And oneDNN compiles for some milliseconds for each new number of rows: so rows are padded with zeros to a
few numbers.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
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
class PackedLinear:
    """x ↦ x Wᵀ + b, by copies of W as it is now."""

    bias: Tensor
    table: Tensor  # (in, out), for a row or two, or for all where nothing is packed
    packed: Tensor | None  # in oneDNN's layout

    @classmethod
    @torch.no_grad()
    def of(cls, weight: Tensor, bias: Tensor) -> Self:
        return cls(bias.detach(), transposed(weight), _packed(weight.detach()))

    def __call__(self, rows: Tensor) -> Tensor:
        """(R, in) → (R, out). oneDNN's product has no gradient and takes rows of the weights' type only."""
        other = torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or rows.dtype != self.table.dtype
        if self.packed is None or other or len(rows) <= 2:
            return torch.addmm(self.bias, rows, self.table)
        padded = F.pad(rows, (0, 0, 0, padded_rows(len(rows)) - len(rows)))
        return torch.ops.mkldnn._linear_pointwise(padded, self.packed, self.bias, "none", [], "")[: len(rows)]

    def __reduce__(self) -> tuple[Callable[[Tensor, Tensor], PackedLinear], tuple[Tensor, Tensor]]:
        """A copy packs anew: packed weights cannot be copied."""
        return type(self).of, (self.table.t(), self.bias)


def transposed(weight: Tensor) -> Tensor:
    """(out, in) → (in, out), contiguous: a product with a row or a few takes down to half of the time
    (docs/experiments/decoding-speed.md#transposed-weights-beams-by-numpy)."""
    return weight.t().contiguous()


def padded_rows(rows: int) -> int:
    """The number of rows that oneDNN multiplies instead."""
    return next((few for few in FEW if rows <= few), -(-rows // MANY) * MANY)


def _packed(weight: Tensor) -> Tensor | None:
    """None where it is small, or where torch cannot do this."""
    if weight.numel() < LARGE or weight.dtype != torch.float32 or weight.device.type != "cpu" or not _can_pack():
        return None
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())


@cache
def _can_pack() -> bool:
    """Whether this torch and this processor have the operations that torch's own compiler uses. They are not public, so
    they are tried."""
    if not torch.backends.mkldnn.is_available() or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    rows, weight, bias = ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]], [0.5, 0.25, 0.0])
    try:
        tensors = [torch.tensor(values, dtype=torch.float32, device="cpu") for values in (rows, weight, bias)]
        packed = torch.ops.mkldnn._reorder_linear_weight(tensors[1])
        product = torch.ops.mkldnn._linear_pointwise(tensors[0], packed, tensors[2], "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return product.tolist() == [[17.5, 23.25, 29.0], [39.5, 53.25, 67.0]]
