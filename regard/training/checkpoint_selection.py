"""Which weights become the model when training has ended, or was stopped: only ones that were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.config import TrainingPlan
from regard.training.loop import Validate, standing
from regard.training.report import dev_text
from regard.training.state import State
from regard.weights import Weights, clone_weights, load_weights, weights_of


@dataclass(frozen=True)
class Selection:
    """The weights that are the model, and their own results on the development set."""

    kind: Literal["average", "best", "last"]
    weights: Weights
    dev: dict[str, float] | None  # None: there was no validation yet
    validations: int  # that an average could be taken of

    def text(self, metric: str) -> str:
        """'the average of the last 5 validations, dev chrf 41.2, loss 1.234'"""
        names = {"average": f"the average of the last {self.validations} validations", "best": "the best validation"}
        name = names.get(self.kind, "the last weights, before any validation")
        return name if self.dev is None else f"{name}, dev {dev_text(self.dev, metric)}"


def select(state: State, training: TrainingPlan, validate: Validate) -> Selection:
    """The best validation, or the average of the latest ones where it is better: measured by `validate`, once.

    The model in memory holds its last weights again afterwards.
    """
    dev, validations = state.progress.best, len(state.recent)
    if state.best is None or dev is None:
        return Selection("last", weights_of(state.model), None, validations)
    best = Selection("best", state.best, dev, validations)
    averaged = state.averaged()
    if averaged is None or validations < 2:  # the average of one is that one, which was judged already
        return best
    last = clone_weights(weights_of(state.model))
    try:
        load_weights(state.model, averaged, "the average")
        average = Selection("average", averaged, validate(), validations)
    finally:
        load_weights(state.model, last, "the last weights")
    metric = training.metric
    assert average.dev is not None
    return average if standing(average.dev, metric) > standing(dev, metric) else best
