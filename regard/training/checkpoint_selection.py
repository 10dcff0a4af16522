"""Which weights become the model when training has ended, or was stopped: only ones that were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.config import TrainingSettings
from regard.training.loop import Look, standing
from regard.training.report import dev_text
from regard.training.state import State
from regard.weights import Weights, clone_weights, load_weights, weights_of


@dataclass(frozen=True)
class Choice:
    """The weights that are the model, and their own results on the development set."""

    kind: Literal["average", "best", "last"]
    weights: Weights
    dev: dict[str, float] | None  # None: there was no look yet
    looks: int  # that an average could be taken of

    def text(self, metric: str) -> str:
        """'the average of the last 5 looks, dev chrf 41.2, loss 1.234'"""
        names = {"average": f"the average of the last {self.looks} looks", "best": "the best look"}
        name = names.get(self.kind, "the last weights, before any look at the development set")
        return name if self.dev is None else f"{name}, dev {dev_text(self.dev, metric)}"


def choose(state: State, training: TrainingSettings, look: Look) -> Choice:
    """The best look, or the average of the latest ones where it is better: measured by `look`, once.

    The model in memory holds its last weights again afterwards.
    """
    dev, looks = state.progress.best, len(state.recent)
    if state.best is None or dev is None:
        return Choice("last", weights_of(state.model), None, looks)
    best = Choice("best", state.best, dev, looks)
    averaged = state.averaged()
    if averaged is None or looks < 2:  # the average of one look is that look, which was judged already
        return best
    last = clone_weights(weights_of(state.model))
    try:
        load_weights(state.model, averaged, "the average")
        average = Choice("average", averaged, look(), looks)
    finally:
        load_weights(state.model, last, "the last weights")
    metric = training.metric or "loss"
    assert average.dev is not None
    return average if standing(average.dev, metric) > standing(dev, metric) else best
