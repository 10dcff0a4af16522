"""What searches know of a model, and any model as they know it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from regard.inference.incremental.output import OutputLayer, output_of
from regard.models.language import LanguageModel
from regard.models.seq2seq import Memory, Model, Record, State


class IncrementalModel(nn.Module, ABC):
    """A model that decodes token by token, without gradients. Each state may be continued once.

    shares_memory: all hypotheses of a sentence use one row of the memory, and stand together in the batch. Otherwise
    each hypothesis has a row of its own.
    """

    shares_memory: bool
    max_source: int | None
    max_target: int | None
    max_total: int | None

    def __init__(self, model: Model | IncrementalModel) -> None:
        """With the limits and the mode of this model."""
        super().__init__()
        self.max_source, self.max_target, self.max_total = model.max_source, model.max_target, model.max_total
        self.training = model.training

    @property
    @abstractmethod
    def output(self) -> OutputLayer: ...

    @abstractmethod
    def encode(self, source: Tensor, mask: Tensor) -> Record:
        """Ids (B, S) and their mask (True = real) → the memory."""

    @abstractmethod
    def start(self, memory: Record) -> Record:
        """The state before the first token."""

    @abstractmethod
    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Record]:
        """Tokens (R, T) that follow `state` → features (R, T, E) for the output layer, and the state after them."""

    def step(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Record]:
        """Tokens (R, T) that follow `state` → logits (R, T, V) of what comes after each, and the state after them."""
        features, after = self.advance(tokens, memory, state)
        return self.output(features), after

    def forward(self, source: Tensor, mask: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing: logits (B, T, V) for every position of the target."""
        memory = self.encode(source, mask)
        return self.step(target_in, memory, self.start(memory))[0]


class StepwiseModel(IncrementalModel):
    """Any model by its own steps."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.model = model
        self.shares_memory = isinstance(model, LanguageModel)  # whose steps do not read the memory

    @property
    def output(self) -> OutputLayer:
        return output_of(self.model.output_layer)

    def encode(self, source: Tensor, mask: Tensor) -> Record:
        return self.model.encode(source, mask)

    def start(self, memory: Record) -> Record:
        assert isinstance(memory, Memory)
        return self.model.start(memory)

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Record]:
        assert isinstance(memory, Memory) and isinstance(state, State)
        return self.model.advance(tokens, memory, state)


def stepwise(model: Model | IncrementalModel) -> IncrementalModel:
    """The model as searches know it, without anything that makes it faster."""
    return model if isinstance(model, IncrementalModel) else StepwiseModel(model)
