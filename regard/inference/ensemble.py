"""An ensemble: at every step the mean of the members' probabilities (Hansen & Salamon 1990).

p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)

Its features are those of all members side by side; memory and state are those of all members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.inference.incremental.model import IncrementalModel, stepwise
from regard.inference.incremental.output import AveragedOutput, OutputLayer
from regard.models.seq2seq import Model, Record
from regard.nn.layers import Layers


@dataclass(frozen=True)
class Members(Record):
    """The memory or the state of each member."""

    records: tuple[Record, ...]


class Ensemble(IncrementalModel):
    """Models with the same vocabularies; architectures may differ."""

    def __init__(self, models: Sequence[Model | IncrementalModel]) -> None:
        super().__init__(models[0])
        self.members = Layers[IncrementalModel](stepwise(model) for model in models)
        self.shares_memory = all(member.shares_memory for member in self.members)
        self.max_source = _least(member.max_source for member in self.members)
        self.max_target = _least(member.max_target for member in self.members)
        self.max_total = _least(member.max_total for member in self.members)

    @property
    def output(self) -> OutputLayer:
        return AveragedOutput([member.output for member in self.members])

    def encode(self, source: Tensor, mask: Tensor) -> Members:
        return Members(tuple(member.encode(source, mask) for member in self.members))

    def start(self, memory: Record) -> Members:
        assert isinstance(memory, Members)
        return Members(tuple(m.start(own) for m, own in zip(self.members, memory.records, strict=True)))

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Members]:
        assert isinstance(memory, Members) and isinstance(state, Members)
        members = zip(self.members, memory.records, state.records, strict=True)
        features, after = zip(*(m.advance(tokens, own, before) for m, own, before in members), strict=True)
        return torch.cat(features, dim=-1), Members(after)


def _least(limits: Iterable[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
