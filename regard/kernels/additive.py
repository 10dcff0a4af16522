"""Additive attention scores without a tanh for each pair of a key and a query.

    vᵀ tanh(k + q) = Σ v - 2 vᵀ σ(-2 (k + q)),   σ(-2 (k + q)) = 1 / (1 + e²ᵏ e²q)

The exponentials of keys and of queries are computed once each, not once a pair:
docs/experiments/decoding-speed.md#beams-that-share-a-memory
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.attention import Additive

LIMIT = 40.0  # larger inputs are clamped: e^±80 is still a float, and no product of two such exponentials is 0·∞


def exp_double(values: Tensor) -> Tensor:
    """e²ˣ."""
    return (2 * values.clamp(-LIMIT, LIMIT)).exp()


def sigmoid_of_sum(queries: Tensor, keys: Tensor, out: Tensor | None = None) -> Tensor:
    """σ(-2 (k + q)) = (1 - tanh(k + q)) / 2 of e²ᵏ and e²q, whose shapes broadcast."""
    sums = torch.addcmul(queries.new_ones(()), queries, keys, out=out)
    return sums.reciprocal() if out is None else sums.reciprocal_()


class FusedAdditive(Additive):
    """Its keys are e²ᵏ."""

    def prepare(self, states: Tensor) -> Tensor:
        return exp_double(super().prepare(states))

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        sigmoids = sigmoid_of_sum(exp_double(self.query_proj(query))[:, :, None], keys[:, None])  # (B, T, S, Q)
        return self.score_proj.weight.sum() - 2 * self.score_proj(sigmoids).squeeze(-1)
