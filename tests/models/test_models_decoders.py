"""Recurrent and convolutional decoders written out from their papers, with torch's own cells."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.seq2seq import Memory
from regard.nn.recurrent import Cell

TWINS = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}


def twin(kind: str, cell: Cell, context_proj: nn.Linear | None = None) -> nn.Module:
    """torch's cell that reads [y, c] as one input."""
    weight = (
        cell.input_proj.weight if context_proj is None else torch.cat((cell.input_proj.weight, context_proj.weight), 1)
    )
    theirs = TWINS[kind](weight.shape[1], cell.width)
    theirs.load_state_dict(
        {
            "weight_ih": weight,
            "bias_ih": cell.input_proj.bias,
            "weight_hh": cell.state_proj.weight,
            "bias_hh": cell.state_proj.bias,
        }
    )
    return theirs


def additive(decoder: nn.Module, memory: Memory, query: Tensor) -> Tensor:
    """c_t = Σ_i softmax_i(vᵀ tanh(W h_i + U s + b)) h_i, for one row at a time."""
    score, contexts = decoder.attention.score, []
    for row, real in enumerate(memory.mask):
        h = memory.states[row][real]
        hidden = torch.tanh(score.key_proj(h) + score.query_proj(query[row]))
        contexts.append((score.score_proj(hidden)[:, 0].softmax(0)[:, None] * h).sum(0))
    return torch.stack(contexts)


@pytest.mark.parametrize("kind", TWINS)
@pytest.mark.parametrize(
    ("context", "query"),
    [("first-state", "state"), ("every-step", "state"), ("attention", "state"), ("attention", "state-and-token")],
)
def test_a_recurrent_decoder_written_out(tiny, rows, kind: str, context: str, query: str) -> None:
    """s_t = f([y_(t-1), c_t], s_(t-1)) and p(y_t) from [s_t, y_(t-1), c_t]; the query is the top layer's last state,
    alone or with the token."""
    fields = {"encoder": "rnn", "decoder": "rnn", "cell": kind, "context": context, "query": query}
    model = tiny(None, encoder_width=10, decoder_width=12, depth=2, **fields)
    decoder, memory = model.decoder, model.encode(rows.source, rows.mask)
    first, second = decoder.stack.layers
    cells = [twin(kind, first, decoder.context_proj), twin(kind, second)]
    pieces = torch.tanh(decoder.bridge(memory.summary)).split(12, dim=1)
    states = [tuple(pieces[:2]), tuple(pieces[2:])] if kind == "lstm" else [pieces[0], pieces[1]]

    def hidden(state: Tensor | tuple[Tensor, ...]) -> Tensor:
        return state[0] if kind == "lstm" else state

    expected = []
    for t in range(5):
        parts = [decoder.embedding(rows.target[:, t])]
        if context == "every-step":
            parts.append(memory.summary)
        if context == "attention":
            query_state = hidden(states[1]) if query == "state" else hidden(states[1]) + decoder.token_proj(parts[0])
            parts.append(additive(decoder, memory, query_state))
        states[0] = cells[0](torch.cat(parts, 1), states[0])
        states[1] = cells[1](hidden(states[0]), states[1])
        readout = torch.tanh(decoder.readout_proj(torch.cat((hidden(states[1]), *parts), 1)))
        expected.append(readout @ decoder.output.weight.T + decoder.output.bias)
    logits = model(rows.source, rows.mask, rows.target)
    assert torch.allclose(logits, torch.stack(expected, 1), atol=1e-5, rtol=1e-4)


def gated(convolution: nn.Conv1d, x: Tensor) -> Tensor:
    channels, gates = convolution(x.T[None])[0].T.chunk(2, dim=1)
    return channels * torch.sigmoid(gates)


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_a_convolution_model_written_out(tiny, rows, norm: str) -> None:
    """One row at a time, without padding: zeros beyond the edges, both ways in the encoder, the past in the decoder."""
    model = tiny("convolution", depth=2, norm=norm, kernel=3, heads=1)
    encoder, decoder = model.encoder, model.decoder
    logits = model(rows.source, rows.mask, rows.target)

    def around(residual: nn.Module, x: Tensor, sublayer) -> Tensor:
        if norm == "pre":
            return x + sublayer(residual.norm(x))
        return residual.norm(x + sublayer(x)) if norm == "post" else x + sublayer(x)

    for row, length in enumerate(rows.lengths):
        h = encoder.embedding(rows.source[row, :length]) + encoder.positions.table[:length]
        for layer in encoder.layers:
            h = around(layer.residual, h, lambda x, c=layer.convolution: gated(c.convolution, F.pad(x, (0, 0, 1, 1))))
        h = encoder.norm(h)
        s = decoder.embedding(rows.target[row]) + decoder.positions.table[:5]
        for layer in decoder.layers:

            def look(x: Tensor, a: nn.Module = layer.cross_attention, h: Tensor = h) -> Tensor:
                scores = a.query_proj(x) @ a.key_proj(h).T / 12**0.5
                return a.output_proj(scores.softmax(-1) @ a.value_proj(h))

            s = around(layer.residual, s, lambda x, c=layer.convolution: gated(c.convolution, F.pad(x, (0, 0, 2, 0))))
            s = around(layer.cross_residual, s, look)
        expected = decoder.norm(s) @ decoder.output.weight.T + decoder.output.bias
        assert torch.allclose(logits[row], expected, atol=1e-4, rtol=1e-4)
