"""Recurrent cells and stacks of them over padded batches, one step or many.

A cell's state is a tuple of (B, W) tensors whose first is the hidden state h. Inputs are projected for all steps at
once, outside the loop; only what depends on the state stays in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn.dropout import dropout
from regard.nn.layers import Layers
from regard.nn.taps import Tap

CellState = tuple[Tensor, ...]


class Cell(nn.Module, ABC):
    """One step of recurrence; gates are stacked in the order of torch's own modules."""

    gates: int
    memories: int = 1  # tensors in a state

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.input_proj = nn.Linear(input_width, self.gates * width)
        self.state_proj = nn.Linear(width, self.gates * width)

    def zero(self, like: Tensor) -> CellState:
        """The state before anything was read, for the batch of `like` (B, …)."""
        return tuple(like.new_zeros(like.shape[0], self.width) for _ in range(self.memories))

    @abstractmethod
    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One projected input (B, gates·W) and a state → the next state."""


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


def make_cell(kind: Literal["rnn", "lstm", "gru"], input_width: int, width: int) -> Cell:
    match kind:
        case "rnn":
            return VanillaCell(input_width, width)
        case "lstm":
            return LSTMCell(input_width, width)
        case "gru":
            return GRUCell(input_width, width)


def run(cell: Cell, inputs: Tensor, state: CellState, tap: Tap | None = None) -> list[CellState]:
    """The states after each of the inputs (B, T, D); what a tap puts in their place is what the next step sees."""
    states = []
    for projected in cell.input_proj(inputs).unbind(1):
        state = cell.step(projected, state)
        if tap is not None:
            state = show(tap, state)
        states.append(state)
    return states


def show(tap: Tap, state: CellState) -> CellState:
    """Lets a tap see the hidden state of one step, and replace it."""
    return tap(state[0][:, None])[:, 0], *state[1:]


def hidden_of(states: list[CellState]) -> Tensor:
    """Hidden states side by side: T × (B, W) → (B, T, W)."""
    return torch.stack([state[0] for state in states], dim=1)


def state_at(states: list[CellState], index: Tensor) -> CellState:
    """The state of each row at its own step: index (B,)."""
    rows = torch.arange(index.shape[0], device=index.device)
    return tuple(torch.stack(pieces)[index, rows] for pieces in zip(*states, strict=True))


def turn_around(values: Tensor, lengths: Tensor) -> Tensor:
    """Each row (B, T, …) reversed within its own length; padding stays where it is."""
    steps = torch.arange(values.shape[1], device=values.device)[None]
    index = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    return values.gather(1, index[:, :, None].expand_as(values))


class Stack(nn.Module):
    """Layers of one-way recurrence, dropout between them."""

    def __init__(self, kind: Literal["rnn", "lstm", "gru"], input_width: int, width: int, depth: int, dropout: float):
        super().__init__()
        self.width = width
        self.dropout = dropout
        self.layers = Layers[Cell](make_cell(kind, width if layer else input_width, width) for layer in range(depth))

    def zero(self, like: Tensor) -> tuple[CellState, ...]:
        return tuple(cell.zero(like) for cell in self.layers)

    def forward(
        self, inputs: Tensor, states: tuple[CellState, ...], lengths: Tensor | None = None, tap: Tap | None = None
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        """(B, T, D) → hidden states (B, T, W) and the state of each layer behind the last real input.

        A tap sees the hidden state of the top layer, step by step.
        """
        after = []
        for layer, (cell, state) in enumerate(zip(self.layers, states, strict=True)):
            if layer:
                inputs = dropout(inputs, self.dropout, self.training)
            steps = run(cell, inputs, state, tap if layer == len(self.layers) - 1 else None)
            inputs = hidden_of(steps)
            after.append(steps[-1] if lengths is None else state_at(steps, lengths - 1))
        return inputs, tuple(after)
