"""Additive attention scores without a tanh for each pair of a key and a query.

    vᵀ tanh(k + q) = Σ v - 2 vᵀ (1 / (1 + e²ᵏ e²q))

The exponentials of keys and of queries are taken once each, not once a pair.
"""

from __future__ import annotations

import torch
from torch import Tensor

REACH = 40.0  # larger inputs are clamped: e^±80 is still a float, and no product of two such powers is 0·∞


def powers(values: Tensor) -> Tensor:
    """e²ˣ."""
    return (2 * values.clamp(-REACH, REACH)).exp()


def opposition(queries: Tensor, keys: Tensor, out: Tensor | None = None) -> Tensor:
    """(1 - tanh(k + q)) / 2 of `powers` of k and of q, whose shapes broadcast."""
    sums = torch.addcmul(queries.new_ones(()), queries, keys, out=out)
    return sums.reciprocal() if out is None else sums.reciprocal_()
