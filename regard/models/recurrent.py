"""Recurrent encoder and decoder: Sutskever 2014, Cho 2014 (a fixed vector), Bahdanau 2015 (attention).

encoder   h_i = f(x_i, h_(i-1)), read forwards, backwards or in both directions;  c = last states;  h_0 = 0 or learned
decoder   s_t = f(y_(t-1), s_(t-1) [, c or c_t]),  p(y_t) = softmax(W tanh(R [s_t, y_(t-1) [, c or c_t]]))
attention c_t = Σ_i softmax_i(score(h_i, s_(t-1) [+ Q y_(t-1)])) h_i
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from regard.models.seq2seq import (
    AttentionMemory,
    Decoder,
    Encoder,
    LanguageMemory,
    Memory,
    Reader,
    State,
    last_real,
)
from regard.nn.attention import Attention
from regard.nn.embedding import Embedding, Output
from regard.nn.layers import Layers
from regard.nn.masks import key_mask
from regard.nn.recurrent import CellState, Stack, make_cell, reverse_sequence, tap_hidden
from regard.nn.taps import Tap

CellKind = Literal["rnn", "lstm", "gru"]


class DirectedLayer(nn.Module):
    """One layer that reads forwards, backwards, or in both directions with half the width each."""

    def __init__(
        self,
        kind: CellKind,
        direction: Literal["forward", "backward", "both"],
        input_width: int,
        width: int,
        learned_start: bool = False,
    ) -> None:
        super().__init__()
        share = width // 2 if direction == "both" else width
        self.forwards = make_cell(kind, input_width, share, learned_start) if direction != "backward" else None
        self.backwards = make_cell(kind, input_width, share, learned_start) if direction != "forward" else None
        self.states = Tap()

    def forward(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) → states (B, S, W), and the last state of each direction side by side (B, W)."""
        states = self.states(self.read(inputs, lengths))
        ends, rows = [], torch.arange(states.shape[0], device=states.device)
        if self.forwards is not None:
            ends.append(states[rows, lengths - 1, : self.forwards.width])
        if self.backwards is not None:
            ends.append(states[:, 0, -self.backwards.width :])  # it reads towards the first token
        return states, torch.cat(ends, dim=-1)

    def read(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """(B, S, D) → the states of both directions side by side (B, S, W)."""
        outputs = []
        if self.forwards is not None:
            outputs.append(self.forwards.unroll(inputs, self.forwards.start(inputs))[0])
        if self.backwards is not None:
            reverse = self.backwards.unroll(reverse_sequence(inputs, lengths), self.backwards.start(inputs))[0]
            outputs.append(reverse_sequence(reverse, lengths))
        return torch.cat(outputs, dim=-1)


class RecurrentEncoder(Encoder):
    """Its memory is the states of the top layer; the summary c is that layer's last state."""

    def __init__(
        self,
        embedding: Embedding,
        kind: CellKind,
        direction: Literal["forward", "backward", "both"],
        width: int,
        depth: int,
        dropout: float,
        learned_start: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding
        embedded = embedding.weight.shape[1]
        self.layers = Layers[DirectedLayer](
            DirectedLayer(kind, direction, width if layer else embedded, width, learned_start) for layer in range(depth)
        )

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        states, summary = self.embedding(source), source
        lengths = mask.sum(1)
        for layer in self.layers:
            states, summary = layer(states, lengths)
            states = self.dropout(states)
        return Memory(states, mask, summary)


@dataclass(frozen=True)
class RecurrentState(State):
    layers: tuple[CellState, ...]


class RecurrentDecoder(Decoder[RecurrentState]):
    """A stack of cells; the memory enters as its first state, at every step, or through attention."""

    def __init__(
        self,
        embedding: Embedding,
        kind: CellKind,
        width: int,
        depth: int,
        memory_width: int,
        context: Literal["first-state", "every-step"] | Attention,
        size: int,
        tied: bool,
        dropout: float,
        token_queries: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding
        embedded = embedding.weight.shape[1]
        self.attention = context if isinstance(context, Attention) else None
        self.every_step = context == "every-step"
        context_width = self.attention.width if self.attention is not None else memory_width if self.every_step else 0
        self.stack = Stack(kind, embedded, width, depth, dropout)
        first = next(iter(self.stack.layers))
        self.bridge = nn.Linear(memory_width, depth * first.memories * width)
        self.context_proj = nn.Linear(context_width, first.gates * width, bias=False) if context_width else None
        self.readout_proj = nn.Linear(width + embedded + context_width, embedded)
        self.token_proj = nn.Linear(embedded, width, bias=False) if token_queries else None
        self.output = Output(embedded, size, embedding if tied else None)
        self.states = Tap()

    def prepare(self, memory: Memory) -> Memory:
        return memory if self.attention is None else AttentionMemory.of(memory, [self.attention])

    def start(self, memory: Memory) -> RecurrentState:
        """s_0 = tanh(W c) for every layer."""
        cells = list(self.stack.layers)
        pieces = torch.tanh(self.bridge(memory.summary)).chunk(len(cells) * cells[0].memories, dim=-1)
        count = cells[0].memories
        layers = tuple(tuple(pieces[i * count : (i + 1) * count]) for i in range(len(cells)))
        return RecurrentState(layers)

    def advance(self, tokens: Tensor, memory: Memory, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        embedded = self.embedding(tokens)
        if self.attention is not None:
            assert isinstance(memory, AttentionMemory)
            hidden, context, layers = self.unroll_with_attention(embedded, memory, state.layers)
        elif self.every_step:
            context = memory.summary[:, None].expand(-1, tokens.shape[1], -1)
            assert self.context_proj is not None
            constant = self.context_proj(memory.summary)
            hidden, layers = self.stack(embedded, state.layers, None, self.states.if_watched(), constant)
        else:
            hidden, layers = self.stack(embedded, state.layers, tap=self.states.if_watched())
            context = None
        inputs = (hidden, embedded) if context is None else (hidden, embedded, context)
        readout = torch.tanh(self.readout_proj(torch.cat(inputs, dim=-1)))
        return self.dropout(readout), RecurrentState(layers)

    def unroll_with_attention(
        self, embedded: Tensor, memory: AttentionMemory, layers: tuple[CellState, ...]
    ) -> tuple[Tensor, Tensor, tuple[CellState, ...]]:
        """The loop of Bahdanau 2015: the state before each step is the query, and the context enters the step.

        Inputs (B, T, E) → hidden states (B, T, W), contexts (B, T, C) and the state of each layer. With token_proj the
        query is s_(t-1) + Q y_(t-1), so that attention knows the last token.
        """
        assert self.attention is not None and self.context_proj is not None
        mask, (keys,), (values,) = key_mask(memory.mask), memory.keys, memory.values
        hidden, contexts = [], []
        token_queries = None if self.token_proj is None else self.token_proj(embedded)
        for step, projected in enumerate(next(iter(self.stack.layers)).input_proj(embedded).unbind(1)):
            query = layers[-1][0][:, None]
            query = query if token_queries is None else query + token_queries[:, step : step + 1]
            context = self.attention(query, keys, values, mask)[:, 0]
            layers = self._step(projected + self.context_proj(context), layers)
            hidden.append(layers[-1][0])
            contexts.append(context)
        return torch.stack(hidden, dim=1), torch.stack(contexts, dim=1), layers

    def _step(self, projected: Tensor, layers: tuple[CellState, ...]) -> tuple[CellState, ...]:
        first, *above = self.stack.layers
        after = [first.step(projected, layers[0])]
        for cell, state in zip(above, layers[1:], strict=True):
            below = self.dropout(after[-1][0])
            after.append(cell.step(cell.input_proj(below), state))
        tap = self.states.if_watched()
        return tuple(after) if tap is None else (*after[:-1], tap_hidden(tap, after[-1]))


class RecurrentReader(Reader[RecurrentState]):
    """One recurrence reads the source and generates the target; its state has a constant size."""

    def __init__(
        self,
        embedding: Embedding,
        kind: CellKind,
        width: int,
        depth: int,
        size: int,
        tied: bool,
        dropout: float,
        learned_start: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding
        self.stack = Stack(kind, embedding.weight.shape[1], width, depth, dropout, learned_start)
        self.readout_proj = nn.Linear(width, embedding.weight.shape[1])
        self.output = Output(embedding.weight.shape[1], size, embedding if tied else None)
        self.states = Tap()

    def read(self, source: Tensor, mask: Tensor) -> LanguageMemory:
        embedded = self.embedding(source)
        states, layers = self.stack(embedded, self.stack.start(embedded), mask.sum(1), self.states.if_watched())
        return LanguageMemory(states, mask, last_real(states, mask), RecurrentState(layers))

    def advance(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        hidden, layers = self.stack(self.embedding(tokens), state.layers, tap=self.states.if_watched())
        readout = torch.tanh(self.readout_proj(hidden))
        return self.dropout(readout), RecurrentState(layers)
