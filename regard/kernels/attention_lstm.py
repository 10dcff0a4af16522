"""An LSTM that looks back by additive attention at every step (Bahdanau 2015), a whole sequence as one node.

    a_t = softmax_i(vᵀ tanh(k_i + W_q h_(t-1) + q_t));   c_t = Σ_i a_ti m_i;   gates = x_t + U h_(t-1) + W_c c_t

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

from regard.kernels.additive import REACH, opposition, powers
from regard.kernels.rnn import lstm_back, lstm_slopes, lstm_step, weight_gradient


@dataclass(frozen=True)
class AttentiveWeights:
    """U (4·W, W), W_c (4·W, C), W_q (Q, W), v (1, Q)."""

    state: Tensor
    context: Tensor
    query: Tensor
    score: Tensor


@dataclass(frozen=True)
class Passed:
    """All that the steps went through, each first by step; R rows of B sources, R / B that stand together."""

    gates: Tensor  # (T, R, 4, W) after their activations
    hidden: Tensor  # (T, R, W)
    cells: Tensor
    bounded: Tensor  # tanh of the cells
    queries: Tensor  # (T, R, Q): W_q h + q
    contexts: Tensor  # (T, R, C)
    weights: Tensor  # (T, B, R / B, S)
    opposed: Tensor  # (T, B, R / B, S, Q): (1 - tanh(k + W_q h + q)) / 2


def attentive_run(
    projected: Tensor,
    asked: Tensor | None,
    weights: AttentiveWeights,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    state: tuple[Tensor, ...],
) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (T, R, 4·W), what asks beside the state (T, R, Q), powers of keys (B, S, Q), values (B, S, C), mask (B, S)
    → h, c (T, R, W), contexts (T, R, C).

    Rows that stand together may share a source (beams, R > B) where no gradient is asked for.
    """
    each = (weights.state, weights.context, weights.query, weights.score[0])
    if torch.is_grad_enabled():
        return _AttentiveRun.apply(projected, asked, *each, keys, values, mask, *state)
    passed = _pass(projected, asked, *each, keys, values, mask, *state)
    return passed.hidden, passed.cells, passed.contexts


def _pass(
    projected: Tensor,
    asked: Tensor | None,
    state_weight: Tensor,
    context_weight: Tensor,
    query_weight: Tensor,
    score: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    first: Tensor,
    first_cell: Tensor,
) -> Passed:
    (steps, rows), width, (sources, length, size) = projected.shape[:2], first.shape[1], keys.shape
    together = (sources, rows // max(sources, 1))
    gates = torch.empty_like(projected).view(steps, rows, 4, width)
    hidden, cells, bounded = (first.new_empty(steps, rows, width) for _ in range(3))
    queries, contexts = first.new_empty(steps, rows, size), first.new_empty(steps, rows, values.shape[2])
    weights = first.new_empty(steps, *together, length)
    opposed = first.new_empty(steps, *together, length, size)
    before, cell, absent, doubled = first, first_cell, ~mask[:, None], -2 * score  # their sum is the same for all keys
    for step in range(steps):
        torch.mm(before, query_weight.t(), out=queries[step])
        if asked is not None:
            queries[step].add_(asked[step])
        opposition(powers(queries[step]).view(*together, 1, size), keys[:, None], out=opposed[step])
        torch.softmax((opposed[step] @ doubled).masked_fill_(absent, -math.inf), -1, out=weights[step])
        torch.bmm(weights[step], values, out=contexts[step].view(*together, -1))
        now = gates[step].view(rows, -1)
        torch.addmm(projected[step], before, state_weight.t(), out=now)
        now.addmm_(contexts[step], context_weight.t())
        lstm_step(now, cell, cells[step], bounded[step], hidden[step])
        before, cell = hidden[step], cells[step]
    return Passed(gates, hidden, cells, bounded, queries, contexts, weights, opposed)


class _AttentiveRun(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        _, _, state_weight, context_weight, query_weight, score, keys, values, _, first, first_cell = inputs
        assert len(keys) == len(first), "rows that share a source have no gradient"
        passed = _pass(*inputs)
        seen = (passed.weights.squeeze(2), passed.opposed.squeeze(2))
        went = (passed.gates, passed.hidden, passed.cells, passed.bounded, passed.queries, passed.contexts, *seen)
        ctx.save_for_backward(*went, state_weight, context_weight, query_weight, score, keys, values, first, first_cell)
        return passed.hidden, passed.cells, passed.contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        gates, hidden, cells, bounded, queries, contexts, weights, opposed, *given = ctx.saved_tensors
        state_weight, context_weight, query_weight, score, keys, values, first, first_cell = given
        slopes, through = lstm_slopes(gates, cells, bounded, first_cell)
        changes, weight_changes = torch.empty_like(gates), torch.empty_like(weights)
        context_changes = torch.empty_like(contexts)
        query_changes, beyond = torch.empty_like(queries), queries.abs() > REACH
        key_changes, steepness = torch.zeros_like(keys), torch.empty_like(keys)
        back, back_cell, slope = torch.zeros_like(first), torch.zeros_like(first), 4 * score
        for step in reversed(range(len(hidden))):
            back = back.add_(gradients[0][step])
            back_cell = back_cell.add_(gradients[1][step])
            back_cell = lstm_back(back, back_cell, slopes[step], through[step], gates[step], changes[step])
            change = changes[step].flatten(1)
            torch.addmm(gradients[2][step], change, context_weight, out=context_changes[step])
            weighed = torch.bmm(values, context_changes[step][:, :, None]).squeeze(2)  # ∂weights (B, S)
            mean = (weights[step] * weighed).sum(1, keepdim=True)
            scored = torch.mul(weights[step], weighed - mean, out=weight_changes[step])  # ∂scores
            torch.addcmul(opposed[step], opposed[step], opposed[step], value=-1, out=steepness)  # a quarter of tanh'
            key_changes.addcmul_(scored[:, :, None], steepness)
            torch.mul(torch.bmm(scored[:, None], steepness).squeeze(1), slope, out=query_changes[step])
            query_changes[step].masked_fill_(beyond[step], 0.0)
            back = torch.addmm(change @ state_weight, query_changes[step], query_weight)
        changes = changes.flatten(2)
        return (
            changes,
            query_changes if ctx.needs_input_grad[1] else None,
            weight_gradient(changes, hidden, first),
            changes.flatten(0, 1).t() @ contexts.flatten(0, 1),
            weight_gradient(query_changes, hidden, first),
            -2 * (weight_changes.flatten() @ opposed.flatten(0, 2)),
            key_changes.mul_(slope).div_(2 * keys),  # ∂k = ∂e²ᵏ 2 e²ᵏ
            torch.einsum("tbs,tbc->bsc", weights, context_changes),
            None,
            back,
            back_cell,
        )
