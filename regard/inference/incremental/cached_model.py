"""Which incremental version a model has, and when it is built."""

from __future__ import annotations

from regard.inference.ensemble import Ensemble
from regard.inference.incremental.lstm import IncrementalLSTM
from regard.inference.incremental.model import IncrementalModel, StepwiseModel, stepwise
from regard.inference.incremental.output import OutputLayer, output_of
from regard.inference.incremental.pointer import IncrementalPointer
from regard.inference.incremental.transformer import IncrementalTransformer
from regard.models.seq2seq import Model, Seq2Seq
from regard.nn.taps import watched


class PackedModel(StepwiseModel):
    """A model by its own steps, with a packed output layer."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._output = output_of(model.output_layer, packed=True)

    @property
    def output(self) -> OutputLayer:
        return self._output


def incremental(model: Model | IncrementalModel) -> IncrementalModel:
    """The fastest version of a model for decoding, with its weights as they are now.

    A decoder-only model has none.
    """
    if isinstance(model, Ensemble):
        return Ensemble([incremental(member) for member in model.members])
    if isinstance(model, StepwiseModel):
        model = model.model
    if isinstance(model, IncrementalModel) or not isinstance(model, Seq2Seq):
        return stepwise(model)
    if model.pointer is not None:
        return IncrementalPointer.of(model) or PackedModel(model)
    return IncrementalTransformer.of(model) or IncrementalLSTM.of(model) or PackedModel(model)


class CachedInferenceModel:
    """The incremental version of a model, built before its first search and again when weights changed in place.

    Equal searches find the same, however many came before.
    """

    def __init__(self, model: Model | IncrementalModel) -> None:
        self._model = model
        self._incremental: IncrementalModel | None = None
        self._parameters = list(model.parameters())
        self._version = -1

    def model(self) -> Model | IncrementalModel:
        """The incremental version; while a tap is watched, the model itself."""
        if watched():
            return self._model
        version = sum(parameter._version for parameter in self._parameters)  # each change in place adds one
        if self._incremental is None or version != self._version:
            self._incremental, self._version = incremental(self._model), version
        return self._incremental
