"""The contract that lets any encoder serve any decoder, and any search serve every model.

    Encoder  source (B, S), mask (B, S) → Memory
    Decoder  start(memory) → State;  advance(tokens (B, T), memory, state) → features (B, T, E), State
             step = advance, then output: features → logits (B, T, V)

Teacher forcing is `step` on many tokens, decoding is `step` on one; both give the same logits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from regard.nn.embedding import Mixture, Output, Ready

OF_SOURCE: dict[str, bool] = {"of_source": True}  # metadata of a field that depends on the source alone


def select_rows(value: object, rows: Tensor, sources: Tensor | None) -> object:
    """Rows of everything a record holds: tensors along their first axis, records and tuples piece by piece."""
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, tuple):
        return tuple(select_rows(piece, rows, sources) for piece in value)
    if isinstance(value, Record):
        return value.rearrange(rows, sources)
    return value


@dataclass(frozen=True)
class Record:
    """A named record of tensors whose first axis is the batch."""

    def select(self, rows: Tensor) -> Self:
        """The record of these rows, in this order; a row may be taken many times or never (finished).

        Where rows share a source, `rearrange` is the one to ask: here a row and its source have one number.
        """
        return self.rearrange(rows, rows)

    def rearrange(self, rows: Tensor, sources: Tensor | None) -> Self:
        """The same where rows that stand together (beams) share what depends on the source alone: `sources` are the
        rows of that to keep, None for all as they are."""
        chosen = {}
        for field in fields(self):
            value = getattr(self, field.name)
            own = "of_source" not in field.metadata
            if own:
                chosen[field.name] = select_rows(value, rows, sources)
            else:
                chosen[field.name] = value if sources is None else select_rows(value, sources, sources)
        return type(self)(**chosen)


@dataclass(frozen=True)
class State(Record):
    """What a decoder carries from one step to the next. Each decoder has its own."""


@dataclass(frozen=True)
class Memory(Record):
    """What is left of the source after reading it."""

    states: Tensor  # (B, S, D)
    mask: Tensor  # (B, S), True = real
    summary: Tensor  # (B, D), the one fixed vector
    state: State | None = None  # of a language model, which goes on from where reading ended

    def begun(self) -> Memory:
        """All that `advance` may ask for once writing has begun: mask and summary. The rest is not carried along."""
        return Memory(self.states[:, :0], self.mask, self.summary)


OwnState = TypeVar("OwnState", bound=State)


class Encoder(nn.Module, ABC):
    width: int

    @abstractmethod
    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Ids (B, S) and their mask (True = real) → Memory of this width."""


class Decoder(nn.Module, ABC, Generic[OwnState]):
    output: Output

    @abstractmethod
    def start(self, memory: Memory) -> OwnState:
        """The state before the first token."""

    @abstractmethod
    def advance(self, tokens: Tensor, memory: Memory, state: OwnState) -> tuple[Tensor, OwnState]:
        """Tokens (B, T) that follow `state` → features (B, T, E) of what comes after each; the state behind them.

        Where the memory has fewer rows, as many rows of tokens as go on each of its rows stand together (beams).
        """


class Reader(nn.Module, ABC, Generic[OwnState]):
    """A decoder that has no encoder: it reads the source itself."""

    output: Output

    @abstractmethod
    def read(self, source: Tensor, mask: Tensor) -> Memory:
        """Ids (B, S) and their mask → a Memory that holds the state behind them."""

    @abstractmethod
    def advance(self, tokens: Tensor, state: OwnState) -> tuple[Tensor, OwnState]:
        """As a decoder's, with all there is to know in the state."""


class Model(nn.Module, ABC):
    """What training, search and analysis know of any model."""

    max_source: int | None = None  # longest source in tokens that positions allow; None: no limit
    max_target: int | None = None
    max_total: int | None = None  # longest source and target together, where they stand in one row

    @abstractmethod
    def encode(self, source: Tensor, mask: Tensor) -> Memory: ...

    @abstractmethod
    def start(self, memory: Memory) -> State: ...

    @abstractmethod
    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Tokens (B, T) that follow `state` → features (B, T, E) for the output layer, and the state behind them.

        In a search the memory is `begun` after the first tokens, and may have fewer rows than there are tokens: those
        that go on from one of its rows stand together (beams).
        """

    @property
    @abstractmethod
    def output_layer(self) -> Output | Ready | nn.Linear | Mixture:
        """The last layer: features → logits, linear but for an ensemble's."""

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Tokens (B, T) that follow `state` → logits (B, T, V) of what comes after each, and the state behind them."""
        features, after = self.advance(tokens, memory, state)
        return self.output_layer(features), after

    def features(self, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing up to the output layer, whose logits a loss need never hold whole: (B, T, E)."""
        memory = self.encode(source, mask)
        return self.advance(target_in, memory, self.start(memory))[0]

    def forward(self, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing: logits (B, T, V) for every position of the target at once."""
        return self.output_layer(self.features(source, mask, target_in))


class Seq2Seq(Model):
    """An encoder and a decoder."""

    def __init__(self, encoder: Encoder, decoder: Decoder[Any], max_source: int | None, max_target: int | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.max_source = max_source
        self.max_target = max_target

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        return self.encoder(source, mask)

    def start(self, memory: Memory) -> State:
        return self.decoder.start(memory)

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        return self.decoder.advance(tokens, memory, state)

    @property
    def output_layer(self) -> Output | Ready:
        return self.decoder.output


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real positions: (B, S, D), (B, S) → (B, D)."""
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp_min(1)


def last_real(states: Tensor, mask: Tensor) -> Tensor:
    """The state at the last real position of each row: (B, S, D), (B, S) → (B, D)."""
    last = mask.sum(1) - 1
    return states[torch.arange(states.shape[0], device=states.device), last]
