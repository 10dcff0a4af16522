"""An LSTM that looks back by additive attention at every step (Bahdanau 2015), a whole sequence as one node.

    a_t = softmax_i(vᵀ tanh(k_i + W_q h_(t-1)));   c_t = Σ_i a_ti m_i;   gates = x_t + U h_(t-1) + W_c c_t

What `step` after `step` gives (tested, with its gradients). Only what depends on the state stays in the two loops;
the gradients of U, W_c, W_q, v and of the values are one product each behind them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.nn.unrolled import lstm_back, lstm_slopes, lstm_step, weight_gradient


@dataclass(frozen=True)
class AttentiveWeights:
    """U (4·W, W), W_c (4·W, C), W_q (Q, W), v (1, Q)."""

    state: Tensor
    context: Tensor
    query: Tensor
    score: Tensor


def attentive_run(
    projected: Tensor, weights: AttentiveWeights, keys: Tensor, values: Tensor, mask: Tensor, state: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (T, B, 4·W), keys (B, S, Q), values (B, S, C), mask (B, S) → h, c (T, B, W), contexts (T, B, C)."""
    each = (weights.state, weights.context, weights.query, weights.score[0])
    return _AttentiveRun.apply(projected, *each, keys, values, mask, *state)


class _AttentiveRun(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        state_weight: Tensor,
        context_weight: Tensor,
        query_weight: Tensor,
        score: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        first: Tensor,
        first_cell: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, batch, width = projected.shape[0], *first.shape
        gates = torch.empty_like(projected).view(steps, batch, 4, width)
        hidden, cells, bounded = (first.new_empty(steps, batch, width) for _ in range(3))
        contexts = first.new_empty(steps, batch, values.shape[2])
        weights = first.new_empty(steps, batch, keys.shape[1])
        matched = first.new_empty(steps, *keys.shape)  # tanh(k + W_q h)
        before, cell, absent = first, first_cell, ~mask
        for step in range(steps):
            torch.add(keys, (before @ query_weight.t())[:, None], out=matched[step]).tanh_()
            scores = (matched[step] @ score).masked_fill_(absent, -math.inf)
            torch.softmax(scores, -1, out=weights[step])
            torch.bmm(weights[step][:, None], values, out=contexts[step][:, None])
            now = gates[step].view(batch, -1)
            torch.addmm(projected[step], before, state_weight.t(), out=now)
            now.addmm_(contexts[step], context_weight.t())
            lstm_step(now, cell, cells[step], bounded[step], hidden[step])
            before, cell = hidden[step], cells[step]
        given = (state_weight, context_weight, query_weight, score, values, first, first_cell)
        ctx.save_for_backward(gates, hidden, cells, bounded, contexts, weights, matched, *given)
        return hidden, cells, contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        gates, hidden, cells, bounded, contexts, weights, matched, *given = ctx.saved_tensors
        state_weight, context_weight, query_weight, score, values, first, first_cell = given
        slopes, through = lstm_slopes(gates, cells, bounded, first_cell)
        changes, weight_changes = torch.empty_like(gates), torch.empty_like(weights)
        context_changes = torch.empty_like(contexts)
        query_changes = first.new_empty(len(hidden), first.shape[0], score.shape[0])
        key_changes, squares = torch.zeros_like(matched[0]), torch.empty_like(matched[0])
        back, back_cell = torch.zeros_like(first), torch.zeros_like(first)
        for step in reversed(range(len(hidden))):
            back = back.add_(gradients[0][step])
            back_cell = back_cell.add_(gradients[1][step])
            back_cell = lstm_back(back, back_cell, slopes[step], through[step], gates[step], changes[step])
            change = changes[step].flatten(1)
            torch.addmm(gradients[2][step], change, context_weight, out=context_changes[step])
            asked = torch.bmm(values, context_changes[step][:, :, None]).squeeze(2)  # ∂weights (B, S)
            mean = (weights[step] * asked).sum(1, keepdim=True)
            scored = torch.mul(weights[step], asked - mean, out=weight_changes[step])  # ∂scores
            torch.mul(matched[step], matched[step], out=squares)
            key_changes.addcmul_(scored[:, :, None], squares, value=-1)
            steepness = scored.sum(1, keepdim=True) - torch.bmm(scored[:, None], squares).squeeze(1)
            torch.mul(steepness, score, out=query_changes[step])
            back = torch.addmm(change @ state_weight, query_changes[step], query_weight)
        changes = changes.flatten(2)
        key_changes.add_(weight_changes.sum(0)[:, :, None]).mul_(score)
        return (
            changes,
            weight_gradient(changes, hidden, first),
            changes.flatten(0, 1).t() @ contexts.flatten(0, 1),
            weight_gradient(query_changes, hidden, first),
            weight_changes.flatten() @ matched.flatten(0, 2),
            key_changes,
            torch.einsum("tbs,tbc->bsc", weights, context_changes),
            None,
            back,
            back_cell,
        )
