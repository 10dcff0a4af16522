"""A toy model whose next-token distribution is a random function of the source and of the whole prefix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from regard.inference.incremental.model import IncrementalModel
from regard.models.seq2seq import Memory, Record, State

BUCKETS = 997


@dataclass(frozen=True)
class Hash(State):
    value: Tensor  # (B,)


class Logits:
    """The output layer of features that are logits already."""

    size = width = 0

    def __call__(self, features: Tensor) -> Tensor:
        return features

    def select(self, ids: Tensor) -> Logits:
        raise NotImplementedError


class Toy(IncrementalModel):
    """logits = table[hash(source, prefix)]: every prefix has its own distribution, and none can be told from a part."""

    shares_memory = True
    max_source = max_target = max_total = None

    def __init__(self, vocabulary: int, seed: int = 0, eos_bonus: float = 0.0, spread: float = 2.0) -> None:
        torch.nn.Module.__init__(self)
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.nn.Parameter(spread * torch.randn(BUCKETS, vocabulary, generator=generator))
        self.table.data[:, 2] += eos_bonus
        self.rows: list[int] = []  # rows of every step
        self.modes: list[bool] = []

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        places = torch.arange(1, source.shape[1] + 1)
        value = (source * mask * places).sum(1) % BUCKETS
        states = value.view(-1, 1, 1).expand(-1, source.shape[1], 1).float()
        return Memory(states, mask, states[:, 0])

    def start(self, memory: Record) -> Hash:
        assert isinstance(memory, Memory)
        return Hash(memory.summary[:, 0].long())

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, State]:
        assert isinstance(state, Hash) and isinstance(memory, Memory)
        assert tokens.shape[0] == state.value.shape[0]
        beams, odd = divmod(tokens.shape[0], memory.mask.shape[0])  # those of a sentence share its row of the memory
        assert beams > 0 and not odd
        self.rows.append(tokens.shape[0])
        self.modes.append(self.training)
        value, logits = state.value, []
        source = memory.summary[:, 0].long().repeat_interleave(beams)
        for token in tokens.unbind(1):
            # the source goes into every step, so that memory taken from another row would show
            value = (value * 31 + token + 7 + source) % BUCKETS
            logits.append(self.table[value])
        return torch.stack(logits, 1), Hash(value)

    @property
    def output(self) -> Logits:
        return Logits()


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def toy() -> type[Toy]:
    return Toy
