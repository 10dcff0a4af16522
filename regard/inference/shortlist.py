"""A shortlist: a model that generates only some of the tokens, by a narrower output layer and the same search."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from regard.inference.hypothesis import Hypothesis
from regard.inference.incremental.model import IncrementalModel
from regard.inference.incremental.output import OutputLayer
from regard.models.seq2seq import Record


class ShortListed(IncrementalModel):
    """Token i of it is token ids[i] of the model; `ids` ascend and begin with the marks, which keep their ids."""

    def __init__(self, model: IncrementalModel, ids: Tensor) -> None:
        super().__init__(model)
        self.model, self.ids, self.shares_memory = model, ids, model.shares_memory
        self._output = model.output.select(ids)

    @property
    def output(self) -> OutputLayer:
        return self._output

    def encode(self, source: Tensor, mask: Tensor) -> Record:
        return self.model.encode(source, mask)

    def start(self, memory: Record) -> Record:
        return self.model.start(memory)

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Record]:
        return self.model.advance(self.ids.take(tokens), memory, state)

    def with_model_ids(self, results: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses with the model's ids."""
        ids = self.ids.tolist()
        return [
            [replace(hypothesis, tokens=tuple(ids[token] for token in hypothesis.tokens)) for hypothesis in hypotheses]
            for hypotheses in results
        ]
