"""Encoder-only: a label for each token, read from the encoder's output at its place."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.seq2seq import Encoder, Memory, Model, State


@dataclass(frozen=True)
class TaggerState(State):
    """How many outputs were read."""

    read: int


class TaggerModel(Model):
    """logits_i = W h_i + b for every encoder output h_i.

    A step of T tokens reads the next T outputs, whatever the tokens are: a label depends on the source alone, not on
    the labels before it. Where the source has ended there is nothing to read: h = 0.
    """

    def __init__(self, encoder: Encoder, size: int, dropout: float, max_source: int | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(encoder.width, size)
        self.max_source = max_source

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        return self.encoder(source, mask)

    def start(self, memory: Memory) -> State:
        return TaggerState(0)

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        assert isinstance(state, TaggerState)
        end, length = state.read + tokens.shape[1], memory.states.shape[1]
        states = (memory.states * memory.mask.unsqueeze(-1))[:, state.read : end]
        states = F.pad(states, (0, 0, 0, end - max(length, state.read)) if end > length else (0, 0))
        return self.dropout(states), TaggerState(end)

    @property
    def output_layer(self) -> nn.Linear:
        return self.output
