"""The contract that lets any encoder serve any decoder.

    Encoder  source (B, S), mask (B, S) → Memory
    Decoder  start(memory) → State;  advance(tokens (B, T), memory, state) → features (B, T, E), State
             step = advance, then output: features → logits (B, T, V)

Teacher forcing is `step` on many tokens, decoding is `step` on one; both give the same logits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from regard.nn.attention import Attention
from regard.nn.copying import CopyOutput, Pointer
from regard.nn.embedding import Output


@dataclass(frozen=True)
class Record:
    """A named record of tensors whose first axis is the batch, of tuples of them, and of other records."""

    def select(self, rows: Tensor) -> Self:
        """The record of these rows, in this order; a row may be taken several times or not at all."""
        return type(self)(**{field.name: select_rows(getattr(self, field.name), rows) for field in fields(self)})


def select_rows(value: object, rows: Tensor) -> object:
    """Rows of a field of a record; what is no tensor belongs to all rows."""
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, tuple):
        return tuple(select_rows(item, rows) for item in value)
    return value.select(rows) if isinstance(value, Record) else value


@dataclass(frozen=True)
class State(Record):
    """What a decoder carries from one step to the next. Each decoder has its own."""


@dataclass(frozen=True)
class Memory(Record):
    """The encoded source. No step changes it."""

    states: Tensor  # (B, S, D)
    mask: Tensor  # (B, S), True = real
    summary: Tensor  # (B, D), the one fixed vector


@dataclass(frozen=True)
class AttentionMemory(Memory):
    """With the keys and values of each attention to it, which are computed once."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    @classmethod
    def of(cls, memory: Memory, attentions: Sequence[Attention]) -> Self:
        pairs = [attention.prepare(memory.states) for attention in attentions]
        keys, values = tuple(keys for keys, _ in pairs), tuple(values for _, values in pairs)
        return cls(memory.states, memory.mask, memory.summary, keys, values)


@dataclass(frozen=True)
class CopyMemory(Memory):
    """With the ids of the source, which a pointer copies."""

    plain: Memory  # what the decoder reads
    source: Tensor  # (B, S)


OwnState = TypeVar("OwnState", bound=State)


class Encoder(nn.Module, ABC):
    width: int

    @abstractmethod
    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Ids (B, S) and their mask (True = real) → Memory of this width."""


class Decoder(nn.Module, ABC, Generic[OwnState]):
    output: Output

    def prepare(self, memory: Memory) -> Memory:
        """The encoder's memory with what depends on it alone; a decoder with attention adds keys and values."""
        return memory

    @abstractmethod
    def start(self, memory: Memory) -> OwnState:
        """The state before the first token."""

    @abstractmethod
    def advance(self, tokens: Tensor, memory: Memory, state: OwnState) -> tuple[Tensor, OwnState]:
        """Tokens (B, T) that follow `state` → features (B, T, E) of what comes after each, and the state after them."""


@dataclass(frozen=True)
class LanguageMemory(Memory):
    """Of a decoder-only model, whose decoder starts from the state after the source."""

    state: State


class Reader(nn.Module, ABC, Generic[OwnState]):
    """The decoder of a decoder-only model: it reads the source itself."""

    output: Output

    @abstractmethod
    def read(self, source: Tensor, mask: Tensor) -> LanguageMemory:
        """Ids (B, S) and their mask → a memory with the state after them."""

    @abstractmethod
    def advance(self, tokens: Tensor, state: OwnState) -> tuple[Tensor, OwnState]:
        """As a decoder's; the state holds all that it needs of the source."""


class Model(nn.Module, ABC):
    """What training, search and analysis know of any model."""

    max_source: int | None = None  # longest source in tokens that positions allow; None: no limit
    max_target: int | None = None
    max_total: int | None = None  # longest source and target together, where they stand in one row

    @abstractmethod
    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        """Ids (B, S) and their mask (True = real) → the memory."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """The state before the first token."""

    @abstractmethod
    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Tokens (B, T) that follow `state` → features (B, T, E) for the output layer, and the state after them."""

    @property
    @abstractmethod
    def output_layer(self) -> Output | CopyOutput | nn.Linear:
        """The last layer: features → logits."""

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Tokens (B, T) that follow `state` → logits (B, T, V) of what comes after each, and the state after them."""
        features, after = self.advance(tokens, memory, state)
        return self.output_layer(features), after

    def features(self, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing up to the output layer, (B, T, E): a loss can compute the logits a few rows at a time."""
        memory = self.encode(source, mask)
        return self.advance(target_in, memory, self.start(memory))[0]

    def forward(self, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing: logits (B, T, V) for every position of the target."""
        return self.output_layer(self.features(source, mask, target_in))


class Seq2Seq(Model):
    """An encoder and a decoder; with a pointer, tokens of the source can be copied."""

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder[Any],
        max_source: int | None,
        max_target: int | None,
        pointer: Pointer | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.pointer = pointer
        self.max_source = max_source
        self.max_target = max_target

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        memory = self.decoder.prepare(self.encoder(source, mask))
        return memory if self.pointer is None else CopyMemory(memory.states, mask, memory.summary, memory, source)

    def start(self, memory: Memory) -> State:
        return self.decoder.start(memory.plain if isinstance(memory, CopyMemory) else memory)

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        if self.pointer is None:
            return self.decoder.advance(tokens, memory, state)
        assert isinstance(memory, CopyMemory)
        features, after = self.decoder.advance(tokens, memory.plain, state)
        return self.pointer(features, memory.states, memory.mask, memory.source), after

    @property
    def output_layer(self) -> Output | CopyOutput:
        return self.decoder.output if self.pointer is None else self.pointer.output


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real positions: (B, S, D), (B, S) → (B, D)."""
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp_min(1)


def last_real(states: Tensor, mask: Tensor) -> Tensor:
    """The state at the last real position of each row: (B, S, D), (B, S) → (B, D)."""
    return state_at_place(states, mask, states.shape[1])


def state_at_place(states: Tensor, mask: Tensor, place: int) -> Tensor:
    """The state at this position of each row, from 0, or its last real one: (B, S, D), (B, S) → (B, D)."""
    index = (mask.sum(1) - 1).clamp_max(place)
    return states[torch.arange(states.shape[0], device=states.device), index]
