"""A model that writes only the tokens of a short list: a narrower output layer, the same search."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from regard.inference.hypothesis import Hypothesis
from regard.models.seq2seq import Memory, Model, State
from regard.nn.embedding import Mixture, Output, Ready


class ShortListed(Model):
    """Token i of it is token ids[i] of the model; `ids` ascend and begin with the marks, which keep their places."""

    def __init__(self, model: Model, ids: Tensor) -> None:
        super().__init__()
        layer = model.output_layer
        assert isinstance(layer, Output | Ready | Mixture), "classes are not written"
        self.model, self.ids, self.layer = model, ids, layer
        self.narrow = layer.only(ids)
        self.max_source, self.max_target, self.max_total = model.max_source, model.max_target, model.max_total
        self.training = model.training  # a new module would train

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        return self.model.encode(source, mask)

    def start(self, memory: Memory) -> State:
        return self.model.start(memory)

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        return self.model.advance(self.ids.take(tokens), memory, state)

    @property
    def output_layer(self) -> Output | Ready | Mixture:
        return self.layer

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        features, after = self.advance(tokens, memory, state)
        return self.narrow(features), after

    def in_full(self, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """What was found, in tokens of the model."""
        ids = self.ids.tolist()
        return [[replace(one, tokens=tuple(ids[token] for token in one.tokens)) for one in each] for each in found]
