"""Checkpoint selection: the weights that become the model are the best or the average of the last validated ones.

Early stopping counts the validations without an improvement (`training.patience`), which are recorded here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from regard.config import TrainingPlan
from regard.training.report import dev_text
from regard.training.state import TrainingState
from regard.weights import Weights, clone_weights, load_weights, weights_of


@dataclass(frozen=True)
class SelectedCheckpoint:
    """The weights that become the model, and their own results on the development set."""

    kind: Literal["average", "best", "last"]
    weights: Weights
    dev: dict[str, float] | None  # None: nothing was validated yet
    validations: int  # that an average could be taken of

    def text(self, metric: str) -> str:
        """'the average of the last 5 validations, dev chrf 41.2, loss 1.234'"""
        names = {"average": f"the average of the last {self.validations} validations", "best": "the best validation"}
        name = names.get(self.kind, "the last weights, before any validation")
        return name if self.dev is None else f"{name}, dev {dev_text(self.dev, metric)}"


def record_validation(state: TrainingState, dev: dict[str, float], training: TrainingPlan) -> bool:
    """Keep the weights for the average, and where they are the best so far as those; True if they are.

    Counts the validations without an improvement, for early stopping.
    """
    progress = state.progress
    metric = training.metric
    if training.average:
        state.recent.append(clone_weights(weights_of(state.model)))
    improved = progress.best is None or score_key(dev, metric) > score_key(progress.best, metric)
    # nothing is better than 100%: from there on patience counts, though the loss may still fall
    complete = metric in ("exact", "accuracy") and progress.best is not None and progress.best[metric] >= 100
    progress.stale = 0 if improved and not complete else progress.stale + 1
    if improved:
        progress.best, progress.best_step = dev, progress.step
        state.best = clone_weights(weights_of(state.model))
    return improved


def select_checkpoint(
    state: TrainingState, training: TrainingPlan, validate: Callable[[], dict[str, float]]
) -> SelectedCheckpoint:
    """The best weights, or the average of the latest validated ones where it is better: it is validated here, once.

    The model in memory holds its last weights again afterwards.
    """
    dev, validations = state.progress.best, len(state.recent)
    if state.best is None or dev is None:
        return SelectedCheckpoint("last", weights_of(state.model), None, validations)
    best = SelectedCheckpoint("best", state.best, dev, validations)
    averaged = state.averaged()
    if averaged is None or validations < 2:  # the average of one is itself, which was validated already
        return best
    last = clone_weights(weights_of(state.model))
    try:
        load_weights(state.model, averaged, "the average")
        average = SelectedCheckpoint("average", averaged, validate(), validations)
    finally:
        load_weights(state.model, last, "the last weights")
    metric = training.metric
    assert average.dev is not None
    return average if score_key(average.dev, metric) > score_key(dev, metric) else best


def score_key(dev: dict[str, float], metric: str) -> tuple[float, float]:
    """Higher is better; where the metric ties (exact match is 0 for long), the lower loss wins."""
    return (-dev["loss"] if metric == "loss" else dev[metric], -dev["loss"])
