"""Attention in the open: scores → weights → context, for every way of scoring.

    scores   how well each key answers each query       (B, H, T, S)
    weights  softmax of the scores over the allowed keys (B, H, T, S)
    context  the weighted mean of the values             (B, H, T, K)

Keys and values depend on the memory alone: `prepare` computes them once for all queries.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.masks import causal_mask
from regard.nn.positions import alibi, rotate
from regard.nn.taps import Tap, watched


def weigh(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that may be attended to: (B, H, T, S) → (B, H, T, S)."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1)


def weigh_in_proportion(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Weights proportional to the scores, which are made positive first: a_i = s⁺_i / Σ_j s⁺_j, s⁺ = log(1 + eˢ).

    The softmax is proportional to eˢ instead: there a difference of scores is a ratio of weights, here a ratio of
    scores is, and no weight comes near zero while its score is positive.
    """
    positive = F.softplus(scores)
    if mask is not None:
        positive = positive.masked_fill(~mask, 0.0)
    return positive / positive.sum(-1, keepdim=True).clamp_min(torch.finfo(positive.dtype).tiny)


def scaled_dot(queries: Tensor, keys: Tensor) -> Tensor:
    """q·k / √K: without the root the softmax is peaked at large K (Vaswani 2017, 3.2.1)."""
    return queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


class Scorer(nn.Module, ABC):
    """How a query s (B, T, Q) is compared with the states h (B, S, D) of a memory."""

    def prepare(self, states: Tensor) -> Tensor:
        """The part that depends on the memory alone."""
        return states

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, Q), (B, S, ·) → scores (B, T, S)."""


class Dot(Scorer):
    """hᵀs."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-2, -1)


class ScaledDot(Scorer):
    """hᵀs / √m."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return scaled_dot(query, keys)


class Bilinear(Scorer):
    """hᵀWs / √m, with widths that may differ (Luong 2015, "general")."""

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.key_proj = nn.Linear(memory_width, query_width, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        return self.key_proj(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return scaled_dot(query, keys)


class Projected(Scorer):
    """(W₁h)ᵀ(W₂s): both sides learn what to compare."""

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.query_proj = nn.Linear(query_width, query_width, bias=False)
        self.key_proj = nn.Linear(memory_width, query_width, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        return self.key_proj(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.query_proj(query) @ keys.transpose(-2, -1)


class Cosine(Scorer):
    """g · hᵀs / (|h||s|): unit-norm states; the learned scale g lets the softmax be sharp all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))

    def prepare(self, states: Tensor) -> Tensor:
        return F.normalize(states, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.log_scale.exp() * (F.normalize(query, dim=-1) @ keys.transpose(-2, -1))


class Additive(Scorer):
    """vᵀ tanh(W h + U s + b): an MLP of [h, s] (Bahdanau 2015, A.1.2)."""

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.query_proj = nn.Linear(query_width, query_width, bias=False)
        self.key_proj = nn.Linear(memory_width, query_width)
        self.score_proj = nn.Linear(query_width, 1, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        return self.key_proj(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.query_proj(query)[:, :, None] + keys[:, None])  # (B, T, S, Q)
        return self.score_proj(hidden).squeeze(-1)


class Attention(nn.Module, ABC):
    """Attention to a memory, whose keys and values are computed once. `width`: of the context."""

    width: int

    @abstractmethod
    def prepare(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """States (B, S, D) → keys and values."""

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Queries (B, T, Q) → contexts (B, T, width); mask broadcasts over (B, H, T, S)."""


class ScoredAttention(Attention):
    """One head: the states themselves are the values. `proportional`: weights in proportion to scores, no softmax."""

    def __init__(self, score: Scorer, memory_width: int, dropout: float, proportional: bool = False) -> None:
        super().__init__()
        self.width = memory_width
        self.proportional = proportional
        self.score = score
        self.dropout = nn.Dropout(dropout)
        self.weights = Tap()

    def prepare(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.score.prepare(states), states

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        scores = self.score(query, keys)[:, None]  # (B, 1, T, S)
        weights = weigh_in_proportion(scores, mask) if self.proportional else weigh(scores, mask)
        return self.dropout(self.weights(weights))[:, 0] @ values


def _projection(width: int, to_width: int, projected: bool, bias: bool) -> nn.Linear:
    """Who needs its weight asks for `projected` first."""
    return nn.Linear(width, to_width, bias=bias) if projected else cast(nn.Linear, nn.Identity())


class MultiHeadAttention(Attention):
    """concat_h(softmax(Q_h K_hᵀ/√K) V_h) W_o  with Q, K, V by learned projections (Vaswani 2017, 3.2.2).

    `split`: each head is width/heads wide, so the heads together cost as much as one. `full`: each head has the full
    width, and output_proj resizes their concatenation. Nothing here depends on the length. Without projections the
    states are queries, keys and values themselves, and the concatenation is the output: softmax(XXᵀ/√K) X.
    """

    def __init__(
        self,
        width: int,
        memory_width: int,
        heads: int,
        layout: Literal["split", "full"],
        dropout: float,
        positions: Literal["rotary", "alibi"] | None = None,
        projected: bool = True,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.heads = heads
        self.dropout = nn.Dropout(dropout)
        self.positions = positions
        self.head_width = width // heads if layout == "split" else width
        inner = heads * self.head_width
        assert projected or inner == width == memory_width, "without projections all widths are one"
        self.projected = projected
        self.query_proj = _projection(width, inner, projected, bias)
        self.key_proj = _projection(memory_width, inner, projected, bias)
        self.value_proj = _projection(memory_width, inner, projected, bias)
        self.output_proj = _projection(inner, width, projected, bias)
        self.weights = Tap()

    def prepare(self, states: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """(B, S, D) → keys and values (B, H, S, K); with rotary positions the first state stands at `start`."""
        keys = self._split(self.key_proj(states))
        if self.positions == "rotary":
            keys = rotate(keys, start + torch.arange(keys.shape[2], device=keys.device))
        return keys, self._split(self.value_proj(states))

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """causal: each query attends to itself and to what precedes it; queries are then the last T of S positions."""
        queries = self._split(self.query_proj(query))  # (B, H, T, K)
        length, total = queries.shape[2], keys.shape[2]
        if self.positions == "rotary":
            queries = rotate(queries, torch.arange(total - length, total, device=queries.device))
        bias = self._bias(length, total, queries.device)
        fused = not watched()
        square = fused and causal and mask is None and bias is None and length == total
        if causal and not square and length > 1:
            causes = causal_mask(length, total, queries.device)
            mask = causes if mask is None else mask & causes
        if fused:
            context = self._fused(queries, keys, values, mask, bias, square)
        else:
            context = self._open(queries, keys, values, mask, bias)
        return self.output_proj(context.transpose(1, 2).flatten(2))

    def _open(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        scores = scaled_dot(queries, keys)
        weights = self.weights(weigh(scores if bias is None else scores + bias, mask))
        return self.dropout(weights) @ values

    def _fused(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None, square: bool
    ) -> Tensor:
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        dropout = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, is_causal=square)

    def _bias(self, length: int, total: int, device: torch.device) -> Tensor | None:
        if self.positions != "alibi":
            return None
        positions = torch.arange(total, device=device)
        return alibi(self.heads, positions[total - length :], positions)

    def _split(self, vectors: Tensor) -> Tensor:
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, H·K) → (B, H, T, K)
