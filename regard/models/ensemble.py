"""Several models that write one text together: at every step the mean of their probabilities (Hansen & Salamon 1990).

p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)

To a search it is a model like any other: its features are those of all members side by side, its state all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.models.seq2seq import OF_SOURCE, Memory, Model, State
from regard.nn.embedding import Mixture, Output, Ready
from regard.nn.layers import Layers


@dataclass(frozen=True)
class Memories(State):
    """What each member has left of the source."""

    members: tuple[Memory, ...]


@dataclass(frozen=True)
class EnsembleState(State):
    states: tuple[State, ...]
    memories: tuple[Memory, ...] = field(metadata=OF_SOURCE)


class Ensemble(Model):
    """Its members have the same vocabularies; architectures may differ."""

    def __init__(self, members: Sequence[Model]) -> None:
        super().__init__()
        assert all(isinstance(member.output_layer, Output | Ready) for member in members), (
            "neither classes nor ensembles"
        )
        self.members = Layers[Model](members)
        self.max_source = _least(member.max_source for member in members)
        self.max_target = _least(member.max_target for member in members)
        self.max_total = _least(member.max_total for member in members)
        self.train(members[0].training)

    @property
    def output_layer(self) -> Mixture:
        layers = [member.output_layer for member in self.members]
        return Mixture([layer for layer in layers if isinstance(layer, Output | Ready)])  # that is, all

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        memories = tuple(member.encode(source, mask) for member in self.members)
        return Memory(memories[0].states[:, :0], mask, memories[0].summary, Memories(memories))

    def start(self, memory: Memory) -> State:
        assert isinstance(memory.state, Memories), "the memory of another model"
        memories = memory.state.members
        each = zip(self.members, memories, strict=True)
        return EnsembleState(tuple(member.start(own) for member, own in each), memories)

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """What members remember of the source goes with the state: `memory` is the first one's alone once begun."""
        assert isinstance(state, EnsembleState), "the state of another model"
        each = zip(self.members, state.memories, state.states, strict=True)
        features, after = zip(*(member.advance(tokens, own, before) for member, own, before in each), strict=True)
        begun = tuple(own.begun() for own in state.memories)
        return torch.cat(features, dim=-1), EnsembleState(after, begun)


def _least(limits: Iterable[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
