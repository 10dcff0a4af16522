"""An LSTM with additive attention (Bahdanau 2015), made ready to write token by token. It steps by

    [z, q] = [U, W_q] h;   c = Σ_i softmax_i(vᵀ tanh(k_i + q [+ Q_y])) m_i
    gates = X_y + z + W_c c;   readout = tanh(R_y + R [h', c])

X_y, R_y and (where tokens ask) Q_y are rows of a table by the token y: their products are never made while it writes.
All four gates have one tanh, σ(x) = (1 + tanh(x / 2)) / 2, the half of x being in the weights. Products are torch's;
what stands between them NumPy does, whose calls cost a quarter of torch's, and that is what a few rows cost most.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.kernels.additive import REACH
from regard.kernels.attention_lstm import AttentiveWeights
from regard.kernels.packed_linear import transposed
from regard.models.recurrent import RecurrentDecoder, RecurrentState
from regard.models.seq2seq import Decoder, Memory
from regard.nn.recurrent import LSTMCell
from regard.nn.taps import watched


class SteppingRecurrence(Decoder[RecurrentState]):
    """One LSTM layer with additive attention, a token at a time on the CPU; prefixes, other devices, and where somebody
    watches, by the decoder it was made of."""

    @torch.no_grad()
    def __init__(self, decoder: RecurrentDecoder, cell: LSTMCell, weights: AttentiveWeights) -> None:
        super().__init__()
        self.decoder, self.output = decoder, decoder.output
        (gates, width), device = weights.state.shape, weights.state.device
        vectors = decoder.embedding.plain(torch.arange(len(decoder.embedding.weight), device=device))
        readout = decoder.readout_proj
        hidden, token, context = readout.weight.split([width, vectors.shape[1], weights.context.shape[1]], dim=1)
        halves = torch.tensor([0.5, 0.5, 1.0, 0.5], device=device).repeat_interleave(width)  # of i, f, g, o
        columns = [cell.project(vectors) * halves, F.linear(vectors, token, readout.bias)]
        if decoder.token_proj is not None:
            columns.append(2 * F.linear(decoder.token_proj(vectors), weights.query))
        self.table = torch.cat(columns, dim=1)  # (V, 4·W + E [+ Q])
        self.state_proj = transposed(torch.cat((weights.state * halves[:, None], 2 * weights.query)))  # (W, 4·W + Q)
        self.context_proj = transposed(weights.context * halves[:, None])  # (C, 4·W)
        self.readout_proj = transposed(torch.cat((hidden, context), dim=1))  # (W + C, E)
        self.score = -2 * weights.score[0]  # (Q,): what is the same for all keys is left out
        self.gates, self.read = gates, gates + vectors.shape[1]  # where the first two columns of the table end

    def start(self, memory: Memory) -> RecurrentState:
        return self.decoder.start(memory)

    def advance(self, tokens: Tensor, memory: Memory, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        if tokens.shape[1] > 1 or tokens.device.type != "cpu" or watched() or torch.is_grad_enabled():
            return self.decoder.advance(tokens, memory, state)
        hidden, cell = state.layers[0]
        of_token = self.table.numpy().take(tokens.numpy()[:, 0], axis=0)
        of_state = torch.mm(hidden, self.state_proj).numpy()
        context = self._look(of_state[:, self.gates :], of_token[:, self.read :], memory, state)
        gates = torch.mm(context, self.context_proj).numpy()
        gates += of_state[:, : self.gates]
        gates += of_token[:, : self.gates]
        new, new_cell = map(torch.from_numpy, _lstm(gates, cell.numpy()))
        readout = torch.mm(torch.cat((new, context), dim=1), self.readout_proj).numpy()
        readout += of_token[:, self.gates : self.read]
        features = torch.from_numpy(np.tanh(readout, out=readout))
        return features[:, None], RecurrentState(((new, new_cell),), state.keys, state.values)

    def _look(self, query: np.ndarray, of_token: np.ndarray, memory: Memory, state: RecurrentState) -> Tensor:
        """Twice the queries (R, Q), and what tokens add to them (R, Q or 0) → contexts (R, C)."""
        assert state.keys is not None and state.values is not None
        keys, (rows, width) = state.keys.numpy(), query.shape
        if of_token.shape[1]:
            query = query + of_token
        powers = np.exp(np.minimum(np.maximum(query, -2 * REACH), 2 * REACH))
        with np.errstate(over="ignore"):  # one over infinity is nought, as it should be
            opposed = powers.reshape(len(keys), -1, 1, width) * keys[:, None]  # (B, R / B, S, Q)
        opposed += 1
        np.reciprocal(opposed, out=opposed)
        scores = torch.mv(torch.from_numpy(opposed).view(-1, width), self.score).view(opposed.shape[:3])
        absent = ~memory.mask.numpy()
        if absent.any():
            np.copyto(scores.numpy(), -math.inf, where=absent[:, None])
        return torch.bmm(torch.softmax(scores, -1), state.values).view(rows, -1)


def _lstm(gates: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gates (R, 4·W), halved but for the candidate and overwritten, and the cell (R, W) before → h' and c' (R, W)."""
    np.tanh(gates, out=gates)
    into, forget, candidate, out = (
        gates[:, start : start + cell.shape[1]] for start in range(0, gates.shape[1], cell.shape[1])
    )
    into += 1
    forget += 1
    out += 1
    new_cell = forget * cell
    into *= candidate
    new_cell += into
    new_cell *= 0.5
    new = np.tanh(new_cell)
    new *= out
    new *= 0.5
    return new, new_cell


def table_size(decoder: RecurrentDecoder, cell: LSTMCell) -> int:
    """Numbers in the table of a decoder with this cell."""
    size, embedded = decoder.embedding.weight.shape
    return size * (cell.gates * cell.width + embedded + (0 if decoder.token_proj is None else cell.width))
