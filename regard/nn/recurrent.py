"""Recurrent cells and stacks of them over padded batches, one step or many.

A cell's state is a tuple of (B, W) tensors whose first is the hidden state h. One step is written as in its paper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn.layers import Layers
from regard.nn.taps import Tap

CellState = tuple[Tensor, ...]


class Cell(nn.Module, ABC):
    """One step of recurrence; gates are stacked in the order of torch's own modules."""

    gates: int
    memories: int = 1  # tensors in a state

    def __init__(self, input_width: int, width: int, learned_start: bool = False) -> None:
        super().__init__()
        self.width = width
        self.first_state = nn.Parameter(torch.zeros(self.memories * width)) if learned_start else None
        self.input_proj = nn.Linear(input_width, self.gates * width)
        self.state_proj = nn.Linear(width, self.gates * width)

    def start(self, like: Tensor) -> CellState:
        """The state before the first input, for the batch of `like` (B, …): zeros, or what was learned."""
        if self.first_state is None:
            return tuple(like.new_zeros(like.shape[0], self.width) for _ in range(self.memories))
        pieces = self.first_state.chunk(self.memories)
        return tuple(piece.expand(like.shape[0], -1).contiguous() for piece in pieces)

    @abstractmethod
    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One projected input (B, gates·W) and a state → the next state."""

    def unroll(
        self, inputs: Tensor, state: CellState, constant: Tensor | float = 0.0, tap: Tap | None = None
    ) -> CellState:
        """Inputs (B, T, D), a state → those after each, every tensor (B, T, W); `constant` is added to all gates.

        Where a tap replaces a hidden state, the next step gets the replacement.
        """
        states = []
        for projected in self.input_proj(inputs).unbind(1):
            state = self.step(projected + constant, state)
            state = state if tap is None else tap_hidden(tap, state)
            states.append(state)
        return tuple(torch.stack(pieces, dim=1) for pieces in zip(*states, strict=True))


class VanillaCell(Cell):
    """h' = tanh(W x + U h + b)  (Elman 1990)."""

    gates = 1

    def step(self, projected: Tensor, state: CellState) -> CellState:
        return (torch.tanh(projected + self.state_proj(state[0])),)


class LSTMCell(Cell):
    """c' = σ(f) c + σ(i) tanh(g),  h' = σ(o) tanh(c')  (Hochreiter & Schmidhuber 1997; gates i, f, g, o)."""

    gates = 4
    memories = 2

    def step(self, projected: Tensor, state: CellState) -> CellState:
        hidden, cell = state
        into, forget, candidate, out = (projected + self.state_proj(hidden)).chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(candidate)
        return torch.sigmoid(out) * torch.tanh(cell), cell


class GRUCell(Cell):
    """h' = (1 - z) n + z h,  n = tanh(W x + r (U h))  (Cho 2014; gates r, z, n)."""

    gates = 3

    def step(self, projected: Tensor, state: CellState) -> CellState:
        hidden = state[0]
        reset_x, update_x, new_x = projected.chunk(3, dim=-1)
        reset_h, update_h, new_h = self.state_proj(hidden).chunk(3, dim=-1)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        return (new + update * (hidden - new),)


def make_cell(kind: Literal["rnn", "lstm", "gru"], input_width: int, width: int, learned_start: bool = False) -> Cell:
    match kind:
        case "rnn":
            return VanillaCell(input_width, width, learned_start)
        case "lstm":
            return LSTMCell(input_width, width, learned_start)
        case "gru":
            return GRUCell(input_width, width, learned_start)


def tap_hidden(tap: Tap, state: CellState) -> CellState:
    """The state of one step, whose hidden state a tap may record or replace."""
    return tap(state[0][:, None])[:, 0], *state[1:]


def state_at(states: CellState, index: Tensor) -> CellState:
    """The state of each row at its own step: tensors (B, T, W), index (B,)."""
    rows = torch.arange(index.shape[0], device=index.device)
    return tuple(tensor[rows, index] for tensor in states)


def reverse_sequence(values: Tensor, lengths: Tensor) -> Tensor:
    """Each row (B, T, …) reversed within its own length; padding stays where it is."""
    steps = torch.arange(values.shape[1], device=values.device)[None]
    index = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    return values.gather(1, index[:, :, None].expand_as(values))


class Stack(nn.Module):
    """Layers of one-way recurrence, dropout between them."""

    def __init__(
        self,
        kind: Literal["rnn", "lstm", "gru"],
        input_width: int,
        width: int,
        depth: int,
        dropout: float,
        learned_start: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.dropout = nn.Dropout(dropout)
        self.layers = Layers[Cell](
            make_cell(kind, width if layer else input_width, width, learned_start) for layer in range(depth)
        )

    def start(self, like: Tensor) -> tuple[CellState, ...]:
        return tuple(cell.start(like) for cell in self.layers)

    def forward(
        self,
        inputs: Tensor,
        before: tuple[CellState, ...],
        lengths: Tensor | None = None,
        tap: Tap | None = None,
        constant: Tensor | float = 0.0,
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """(B, T, D) → hidden states (B, T, W) and the state of each layer after the last real input.

        The tap is that of the top layer's hidden states; `constant` (B, gates·W) enters every step of the first layer.
        """
        after = []
        for layer, (cell, state) in enumerate(zip(self.layers, before, strict=True)):
            if layer:
                inputs = self.dropout(inputs)
            top = layer == len(self.layers) - 1
            states = cell.unroll(inputs, state, 0.0 if layer else constant, tap if top else None)
            inputs = states[0]
            last = tuple(tensor[:, -1] for tensor in states)
            after.append(last if lengths is None else state_at(states, lengths - 1))
        return inputs, tuple(after)
