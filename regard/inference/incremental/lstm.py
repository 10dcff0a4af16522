"""Incremental decoding by an LSTM with additive attention (Bahdanau 2015). Its step is

    [z, q] = [U, W_q] h;   c = Σ_i softmax_i(vᵀ tanh(k_i + q [+ Q_y])) m_i
    gates = X_y + z + W_c c;   readout = tanh(R_y + R [h', c])

X_y, R_y and Q_y (with queries of state and token) are rows of a table by the token y, computed once. Products are
torch's; NumPy computes the rest, where a call costs a quarter of torch's: for a few rows calls are most of the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.inference.incremental.model import IncrementalModel
from regard.inference.incremental.output import OutputLayer, PackedOutput
from regard.kernels.additive import LIMIT, exp_double
from regard.kernels.attention_lstm import AttentionLSTMWeights
from regard.kernels.packed_linear import transposed
from regard.kernels.rnn import lstm_step
from regard.models.recurrent import RecurrentDecoder
from regard.models.seq2seq import Memory, Record, Seq2Seq
from regard.nn.attention import Additive, ScoredAttention

LARGEST = 2**24  # numbers in the table by token: 64 MiB


@dataclass(frozen=True)
class LSTMMemory(Record):
    keys: Tensor  # (B, S, Q): e²ᵏ
    values: Tensor  # (B, S, C)
    padding: Tensor  # (B, S), True = no token
    summary: Tensor  # (B, D)


@dataclass(frozen=True)
class LSTMState(Record):
    hidden: Tensor  # (R, W)
    cell: Tensor


class IncrementalLSTM(IncrementalModel):
    """One LSTM layer with additive attention, on the CPU."""

    shares_memory = True

    @classmethod
    def of(cls, model: Seq2Seq) -> Self | None:
        """None for other architectures and devices, and where the table by token would be large."""
        decoder = model.decoder
        if not isinstance(decoder, RecurrentDecoder):
            return None
        weights = AttentionLSTMWeights.of(decoder)
        if weights is None or weights.state.device.type != "cpu" or table_size(decoder) > LARGEST:
            return None
        return cls(model, decoder, weights)

    @torch.no_grad()
    def __init__(self, model: Seq2Seq, decoder: RecurrentDecoder, weights: AttentionLSTMWeights) -> None:
        super().__init__(model)
        assert isinstance(decoder.attention, ScoredAttention) and isinstance(decoder.attention.score, Additive)
        self.encoder, self.decoder, self.key_proj = model.encoder, decoder, decoder.attention.score.key_proj
        self._output = PackedOutput.of(decoder.output)
        cell, gates = next(iter(decoder.stack.layers)), len(weights.state)
        vectors = decoder.embedding.plain(torch.arange(len(decoder.embedding.weight)))
        readout = decoder.readout_proj
        hidden, token, context = readout.weight.split([cell.width, vectors.shape[1], weights.context.shape[1]], dim=1)
        inputs = F.linear(vectors, cell.input_proj.weight, cell.input_proj.bias + cell.state_proj.bias)
        columns = [inputs, F.linear(vectors, token, readout.bias)]
        if decoder.token_proj is not None:
            columns.append(2 * F.linear(decoder.token_proj(vectors), weights.query))
        self.table = torch.cat(columns, dim=1)  # (V, 4·W + E [+ Q])
        self.state_proj = transposed(torch.cat((weights.state, 2 * weights.query)))  # (W, 4·W + Q)
        self.context_proj = transposed(weights.context)  # (C, 4·W)
        self.readout_proj = transposed(torch.cat((hidden, context), dim=1))  # (W + C, E)
        self.score = -2 * weights.score[0]  # (Q,): Σ v is the same for all keys
        self.gates, self.read = gates, gates + vectors.shape[1]  # where the first two columns of the table end

    @property
    def output(self) -> OutputLayer:
        return self._output

    def encode(self, source: Tensor, mask: Tensor) -> LSTMMemory:
        return self.prepare(self.encoder(source, mask))

    def prepare(self, memory: Memory) -> LSTMMemory:
        """The keys of the attention."""
        return LSTMMemory(exp_double(self.key_proj(memory.states)), memory.states, ~memory.mask, memory.summary)

    def start(self, memory: Record) -> LSTMState:
        assert isinstance(memory, LSTMMemory)
        (state,) = self.decoder.start(Memory(memory.values, memory.padding, memory.summary)).layers
        return LSTMState(*state)

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, LSTMState]:
        assert isinstance(memory, LSTMMemory) and isinstance(state, LSTMState)
        features = []
        for ids in tokens.unbind(1):
            readout, state = self._step(ids, memory, state)
            features.append(readout)
        return torch.stack(features, dim=1), state

    def _step(self, ids: Tensor, memory: LSTMMemory, state: LSTMState) -> tuple[Tensor, LSTMState]:
        of_token = self.table.numpy().take(ids.numpy(), axis=0)
        of_state = torch.mm(state.hidden, self.state_proj).numpy()
        context = self._attend(of_state[:, self.gates :], of_token[:, self.read :], memory)
        gates = torch.mm(context, self.context_proj).numpy()
        gates += of_state[:, : self.gates]
        gates += of_token[:, : self.gates]
        new_cell, bounded, new = np.empty((3, *state.cell.shape), dtype=gates.dtype)
        lstm_step(gates, state.cell.numpy(), new_cell, bounded, new)
        hidden, cell = torch.from_numpy(new), torch.from_numpy(new_cell)
        readout = torch.mm(torch.cat((hidden, context), dim=1), self.readout_proj).numpy()
        readout += of_token[:, self.gates : self.read]
        return torch.from_numpy(np.tanh(readout, out=readout)), LSTMState(hidden, cell)

    def _attend(self, query: np.ndarray, token_query: np.ndarray, memory: LSTMMemory) -> Tensor:
        """Twice the queries (R, Q), and what tokens add to them (R, Q or 0) → contexts (R, C)."""
        keys, (rows, width) = memory.keys.numpy(), query.shape
        if token_query.shape[1]:
            query = query + token_query
        exponentials = np.exp(np.minimum(np.maximum(query, -2 * LIMIT), 2 * LIMIT))
        with np.errstate(over="ignore"):  # 1 / ∞ is zero, as it should be
            sigmoids = exponentials.reshape(len(keys), -1, 1, width) * keys[:, None]  # (B, R / B, S, Q)
        sigmoids += 1
        np.reciprocal(sigmoids, out=sigmoids)
        scores = torch.mv(torch.from_numpy(sigmoids).view(-1, width), self.score).view(sigmoids.shape[:3])
        padding = memory.padding.numpy()
        if padding.any():
            np.copyto(scores.numpy(), -math.inf, where=padding[:, None])
        return torch.bmm(torch.softmax(scores, -1), memory.values).view(rows, -1)


def table_size(decoder: RecurrentDecoder) -> int:
    """Numbers in the table by token."""
    size, embedded = decoder.embedding.weight.shape
    cell = next(iter(decoder.stack.layers))
    return size * (cell.gates * cell.width + embedded + (0 if decoder.token_proj is None else cell.width))
