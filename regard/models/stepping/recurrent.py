"""An LSTM with additive attention (Bahdanau 2015), made ready to write token by token. It steps by

    [z, q] = [U, W_q] h;   c = Σ_i softmax_i(vᵀ tanh(k_i + q [+ Q_y])) m_i
    gates = X_y + z + W_c c;   readout = tanh(R_y + R [h', c])

X_y, R_y and (where tokens ask) Q_y are rows of a table by the token y: their products are never made while it writes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.recurrent import RecurrentDecoder, RecurrentState
from regard.models.seq2seq import Decoder, Memory
from regard.nn.attention import REACH, opposition
from regard.nn.attentive import AttentiveWeights
from regard.nn.recurrent import LSTMCell
from regard.nn.taps import watched
from regard.nn.unrolled import lstm_step


class SteppingRecurrence(Decoder[RecurrentState]):
    """One LSTM layer with additive attention, a token at a time; prefixes, and where somebody watches, by the decoder
    it was made of."""

    @torch.no_grad()
    def __init__(self, decoder: RecurrentDecoder, cell: LSTMCell, weights: AttentiveWeights) -> None:
        super().__init__()
        self.decoder, self.output = decoder, decoder.output
        (gates, width), (asked, _) = weights.state.shape, weights.query.shape
        vectors = decoder.embedding.plain(torch.arange(len(decoder.embedding.weight), device=weights.state.device))
        readout = decoder.readout_proj
        hidden, token, context = readout.weight.split([width, vectors.shape[1], weights.context.shape[1]], dim=1)
        columns = [cell.project(vectors), F.linear(vectors, token, readout.bias)]
        if decoder.token_proj is not None:
            columns.append(2 * F.linear(decoder.token_proj(vectors), weights.query))
        self.table, self.columns = torch.cat(columns, dim=1), [one.shape[1] for one in columns]  # (V, 4·W + E [+ Q])
        self.state_proj = torch.cat((weights.state, 2 * weights.query)).t()  # (W, 4·W + Q); powers are of twice q
        self.context_proj = weights.context.t()  # (C, 4·W)
        self.readout_proj = torch.cat((hidden, context), dim=1).t()  # (W + C, E)
        self.score = -2 * weights.score[0]  # (Q,): what is the same for all keys is left out
        self.gates, self.asked = gates, asked

    def start(self, memory: Memory) -> RecurrentState:
        return self.decoder.start(memory)

    def advance(self, tokens: Tensor, memory: Memory, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        if tokens.shape[1] > 1 or watched() or torch.is_grad_enabled():
            return self.decoder.advance(tokens, memory, state)
        assert state.keys is not None and state.values is not None
        of_token, of_readout, *of_query = self.table.index_select(0, tokens[:, 0]).split(self.columns, 1)
        (hidden, cell), (rows, sources) = state.layers[0], (len(tokens), len(state.keys))
        of_state, query = (hidden @ self.state_proj).split([self.gates, self.asked], dim=1)
        query = query + of_query[0] if of_query else query
        powers = query.clamp(-2 * REACH, 2 * REACH).exp_().view(sources, rows // sources, 1, self.asked)
        scores = opposition(powers, state.keys[:, None]) @ self.score  # (B, R / B, S)
        weights = scores.masked_fill_(~memory.mask[:, None], -math.inf).softmax(-1)
        context = torch.bmm(weights, state.values).view(rows, -1)
        gates = torch.addmm(of_token + of_state, context, self.context_proj)
        new, new_cell, bounded = (torch.empty_like(hidden) for _ in range(3))
        lstm_step(gates, cell, new_cell, bounded, new)
        readout = torch.addmm(of_readout, torch.cat((new, context), dim=1), self.readout_proj).tanh_()
        return readout[:, None], RecurrentState(((new, new_cell),), state.keys, state.values)


def table_size(decoder: RecurrentDecoder, cell: LSTMCell) -> int:
    """Numbers in the table of a decoder with this cell."""
    size, embedded = decoder.embedding.weight.shape
    return size * (cell.gates * cell.width + embedded + (0 if decoder.token_proj is None else cell.width))
