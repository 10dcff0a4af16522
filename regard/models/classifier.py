"""Encoder-only: the class is read from the first, the last, the n-th or the mean of the encoder's outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from regard.models.seq2seq import Encoder, Memory, Model, State, last_real, masked_mean, state_at_place


@dataclass(frozen=True)
class NoState(State):
    """A classifier carries nothing."""


class ClassifierModel(Model):
    """logits = W pool(h) + b; one step gives them, whatever token it is given."""

    def __init__(
        self,
        encoder: Encoder,
        pooling: Literal["first", "last", "mean"] | int,
        size: int,
        dropout: float,
        max_source: int | None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(encoder.width, size)
        self.max_source = max_source

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        return self.encoder(source, mask)

    def start(self, memory: Memory) -> State:
        return NoState()

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        match self.pooling:
            case "first":
                pooled = memory.states[:, 0]
            case "last":
                pooled = last_real(memory.states, memory.mask)
            case "mean":
                pooled = masked_mean(memory.states, memory.mask)
            case place:
                pooled = state_at_place(memory.states, memory.mask, place)
        return self.dropout(pooled)[:, None], state

    @property
    def output_layer(self) -> nn.Linear:
        return self.output
