"""The pointer-generator: a word of the output is generated, or copied from the source (See 2017, 2.2; Vinyals 2015).

    a_t = softmax_i(h_iᵀ W x_t / √D)                 where to copy from, a map over the source
    g_t = σ(w·x_t + b)                               how likely the next token is generated
    p_t(y) = g_t softmax(E x_t + b)_y + (1 - g_t) Σ_{i: s_i = y} a_ti

Names and numbers that training seldom or never had can be written so. Source and target need one vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.attention import scaled_dot, weigh
from regard.nn.embedding import Output
from regard.nn.masks import key_mask
from regard.nn.taps import Tap

SMALLEST = 1e-30  # a smaller probability has no gradient worth having


def mix(logits: Tensor, gate: Tensor, copied: Tensor) -> Tensor:
    """log p of generating and copying together: logits (…, V), the logit of g (…, 1), Σ a by token (…, V)."""
    generated = F.logsigmoid(gate) + logits.log_softmax(-1)
    return torch.logaddexp(generated, F.logsigmoid(-gate) + copied.clamp_min(SMALLEST).log())


class CopyOutput(nn.Module):
    """The output layer of features with what a Pointer added to them: (B, T, E + 1 + V) → log p (B, T, V)."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output

    def forward(self, features: Tensor) -> Tensor:
        size, width = self.output.weight.shape
        states, gate, copied = features.split([width, 1, size], dim=-1)
        return mix(self.output(states), gate, copied)


class Pointer(nn.Module):
    """Adds to a decoder's features how likely a token is generated, and how likely each is copied."""

    def __init__(self, memory_width: int, output: Output) -> None:
        super().__init__()
        width = output.weight.shape[1]
        self.query_proj = nn.Linear(width, memory_width, bias=False)
        self.gate_proj = nn.Linear(width, 1)
        self.weights = Tap()
        self.output = CopyOutput(output)

    def forward(self, features: Tensor, states: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        """Features (R, T, E); memory (B, S, D), its mask and ids (B, S) → (R, T, E + 1 + V).

        R is B, or a multiple: hypotheses that share a row of the memory stand together.
        """
        rows, steps, _ = features.shape
        queries = self.query_proj(features).reshape(len(states), -1, states.shape[2])  # (B, R / B · T, D)
        weights = self.weights(weigh(scaled_dot(queries, states)[:, None], key_mask(mask)))[:, 0]
        size = len(self.output.output.weight)
        copied = weights.new_zeros(*weights.shape[:2], size)
        copied = copied.scatter_add(2, source[:, None].expand_as(weights), weights)
        return torch.cat((features, self.gate_proj(features), copied.view(rows, steps, size)), dim=-1)
