"""An LSTM with additive attention to a memory (Bahdanau 2015), a whole sequence as one node of the graph.

    a_t = softmax_i(vᵀ tanh(k_i + W_q h_(t-1) + q_t));   c_t = Σ_i a_ti m_i;   gates = x_t + U h_(t-1) + W_c c_t

Only what depends on the state stays in the two loops; the gradients of U, W_c, W_q, v and of the values are one product
each after them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.kernels.additive import LIMIT, FusedAdditive, exp_double, sigmoid_of_sum
from regard.kernels.rnn import FusedLSTMCell, lstm_back, lstm_slopes, lstm_step, weight_gradient
from regard.models.recurrent import RecurrentDecoder
from regard.models.seq2seq import AttentionMemory
from regard.nn.attention import Additive, ScoredAttention
from regard.nn.recurrent import CellState, LSTMCell
from regard.nn.taps import watched


@dataclass(frozen=True)
class AttentionLSTMWeights:
    """U (4·W, W), W_c (4·W, C), W_q (Q, W), v (1, Q)."""

    state: Tensor
    context: Tensor
    query: Tensor
    score: Tensor

    @classmethod
    def of(cls, decoder: RecurrentDecoder) -> AttentionLSTMWeights | None:
        """None for other decoders than one LSTM layer with additive attention and a softmax."""
        cell, *above = decoder.stack.layers
        attention = decoder.attention
        if above or not isinstance(cell, LSTMCell) or not isinstance(attention, ScoredAttention):
            return None
        if attention.proportional:
            return None
        score = attention.score
        if not isinstance(score, Additive) or decoder.context_proj is None:
            return None
        projections = (cell.state_proj, decoder.context_proj, score.query_proj, score.score_proj)
        return cls(*(projection.weight for projection in projections))


class FusedRecurrentDecoder(RecurrentDecoder):
    """With one LSTM layer and additive attention that no tap watches."""

    def unroll_with_attention(
        self, embedded: Tensor, memory: AttentionMemory, layers: tuple[CellState, ...]
    ) -> tuple[Tensor, Tensor, tuple[CellState, ...]]:
        weights, (cell, *_), attention = AttentionLSTMWeights.of(self), self.stack.layers, self.attention
        if weights is None or watched() or embedded.device.type != "cpu":
            return super().unroll_with_attention(embedded, memory, layers)
        assert isinstance(cell, FusedLSTMCell) and isinstance(attention, ScoredAttention)
        assert isinstance(attention.score, FusedAdditive), "keys are e²ᵏ"
        if self.training and attention.dropout.p:
            return super().unroll_with_attention(embedded, memory, layers)
        inputs = embedded.transpose(0, 1).contiguous()
        token_queries = None if self.token_proj is None else F.linear(self.token_proj(inputs), weights.query)
        (keys,), (values,) = memory.keys, memory.values
        outputs = attention_lstm(cell.project(inputs), token_queries, weights, keys, values, memory.mask, layers[0])
        hidden, cells, contexts = (output.transpose(0, 1) for output in outputs)
        return hidden, contexts, ((hidden[:, -1], cells[:, -1]),)


@dataclass(frozen=True)
class Activations:
    """Everything the forward loop computes, time first."""

    gates: Tensor  # (T, B, 4, W) after their activations
    hidden: Tensor  # (T, B, W)
    cells: Tensor
    bounded: Tensor  # tanh of the cells
    queries: Tensor  # (T, B, Q): W_q h + q
    contexts: Tensor  # (T, B, C)
    weights: Tensor  # (T, B, S)
    sigmoids: Tensor  # (T, B, S, Q): (1 - tanh(k + W_q h + q)) / 2


def attention_lstm(
    projected: Tensor,
    token_queries: Tensor | None,
    weights: AttentionLSTMWeights,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    state: tuple[Tensor, ...],
) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (T, B, 4·W), q (T, B, Q), e²ᵏ (B, S, Q), values (B, S, C), mask (B, S) → h, c (T, B, W), contexts
    (T, B, C)."""
    inputs = (weights.state, weights.context, weights.query, weights.score[0], keys, values, mask, *state)
    if torch.is_grad_enabled():
        return _AttentionLSTM.apply(projected, token_queries, *inputs)
    activations = _forward(projected, token_queries, *inputs)
    return activations.hidden, activations.cells, activations.contexts


def _forward(
    projected: Tensor,
    token_queries: Tensor | None,
    state_weight: Tensor,
    context_weight: Tensor,
    query_weight: Tensor,
    score: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    first: Tensor,
    first_cell: Tensor,
) -> Activations:
    (steps, batch), width, (_, length, size) = projected.shape[:2], first.shape[1], keys.shape
    gates = torch.empty_like(projected).view(steps, batch, 4, width)
    hidden, cells, bounded = (first.new_empty(steps, batch, width) for _ in range(3))
    queries, contexts = first.new_empty(steps, batch, size), first.new_empty(steps, batch, values.shape[2])
    weights, sigmoids = first.new_empty(steps, batch, length), first.new_empty(steps, batch, length, size)
    before, cell = first, first_cell.detach().numpy()
    padding, doubled = ~mask, -2 * score  # Σ v is the same for all keys
    arrays = [tensor.numpy() for tensor in (gates.flatten(2), cells, bounded, hidden)]
    for step in range(steps):
        torch.mm(before, query_weight.t(), out=queries[step])
        if token_queries is not None:
            queries[step].add_(token_queries[step])
        sigmoid_of_sum(exp_double(queries[step])[:, None], keys, out=sigmoids[step])
        torch.softmax((sigmoids[step] @ doubled).masked_fill_(padding, -math.inf), -1, out=weights[step])
        torch.bmm(weights[step][:, None], values, out=contexts[step][:, None])
        gate = gates[step].view(batch, -1)
        torch.addmm(projected[step], before, state_weight.t(), out=gate)
        gate.addmm_(contexts[step], context_weight.t())
        of_gates, new_cell, tanh_cell, new = (array[step] for array in arrays)
        lstm_step(of_gates, cell, new_cell, tanh_cell, new)
        before, cell = hidden[step], new_cell
    return Activations(gates, hidden, cells, bounded, queries, contexts, weights, sigmoids)


class _AttentionLSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        _, _, state_weight, context_weight, query_weight, score, keys, values, _, first, first_cell = inputs
        computed = _forward(*inputs)
        ctx.save_for_backward(
            *(getattr(computed, field.name) for field in fields(computed)),
            state_weight,
            context_weight,
            query_weight,
            score,
            keys,
            values,
            first,
            first_cell,
        )
        return computed.hidden, computed.cells, computed.contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        gates, hidden, cells, bounded, queries, contexts, weights, sigmoids, *inputs = ctx.saved_tensors
        state_weight, context_weight, query_weight, score, keys, values, first, first_cell = inputs
        slopes, through = lstm_slopes(gates, cells, bounded, first_cell)
        changes, weight_changes = torch.empty_like(gates), torch.empty_like(weights)
        context_changes = torch.empty_like(contexts)
        query_changes, clamped = torch.empty_like(queries), queries.abs() > LIMIT
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
            torch.addcmul(sigmoids[step], sigmoids[step], sigmoids[step], value=-1, out=steepness)  # a quarter of tanh'
            key_changes.addcmul_(scored[:, :, None], steepness)
            torch.mul(torch.bmm(scored[:, None], steepness).squeeze(1), slope, out=query_changes[step])
            query_changes[step].masked_fill_(clamped[step], 0.0)
            back = torch.addmm(change @ state_weight, query_changes[step], query_weight)
        changes = changes.flatten(2)
        return (
            changes,
            query_changes if ctx.needs_input_grad[1] else None,
            weight_gradient(changes, hidden, first),
            changes.flatten(0, 1).t() @ contexts.flatten(0, 1),
            weight_gradient(query_changes, hidden, first),
            -2 * (weight_changes.flatten() @ sigmoids.flatten(0, 2)),
            key_changes.mul_(slope).div_(2 * keys),  # ∂k = ∂e²ᵏ 2 e²ᵏ
            torch.einsum("tbs,tbc->bsc", weights, context_changes),
            None,
            back,
            back_cell,
        )
