"""How long a run would take, guessed before there is a model: what its steps and its width are chosen by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.config import ModelPlan, TrainingSettings

USUAL_SECONDS = 1500  # a run without limits of its own ends after about so long on two cores,
ENOUGH_EPOCHS, MOST_SECONDS = 8, 3000  # or, where so many epochs take longer, after them, but not beyond so long
ALONE = (
    1.75  # times as long as on two cores a step takes on one: docs/experiments/home-assistant.md#the-defaults-reviewed
)


@dataclass(frozen=True)
class Workload:
    """How much there is to compute in an epoch, whatever the model."""

    tokens: float  # of a pair, on its longer side
    batch_tokens: int
    batches: float  # of an epoch
    entries: int  # that every token is chosen from


@dataclass(frozen=True)
class StepTime:
    """How long a model takes for an update, and so for an epoch."""

    seconds: float  # of an update
    batches: float  # of an epoch

    @classmethod
    def of(cls, model: ModelPlan, workload: Workload, given: TrainingSettings) -> StepTime:
        alone = given.threads == 1 and given.processes in (None, 1)
        return cls(step_seconds(model, workload) * (ALONE if alone else 1.0), workload.batches)

    @property
    def epoch_seconds(self) -> float:
        return self.seconds * self.batches

    def steps(self) -> int:
        """Forty epochs, but no more than the time allows; and enough steps to learn anything from a small corpus."""
        seconds = min(max(ENOUGH_EPOCHS * self.epoch_seconds, USUAL_SECONDS), MOST_SECONDS)
        steps = min(max(40 * self.batches, 1500), max(seconds / self.seconds, 200))
        return round(steps / 50) * 50

    def is_enough(self, given: TrainingSettings) -> bool:
        """Whether enough epochs are asked for, and fit into the minutes that are set, or the most that are taken."""
        asked = min(given.epochs or math.inf, (given.steps or math.inf) / self.batches)
        seconds = MOST_SECONDS if given.minutes is None else 60 * given.minutes
        return asked >= ENOUGH_EPOCHS and ENOUGH_EPOCHS * self.epoch_seconds <= seconds


def step_seconds(model: ModelPlan, workload: Workload) -> float:
    """A guess of how long an update takes on two cores: the multiplications, and what every time step costs anew."""
    width = model.width
    depth = sum(model.depths)
    per_layer = {"transformer": 14, "convolution": 10, "rnn": {"rnn": 2, "gru": 6, "lstm": 8}[model.cell], "none": 0}
    per_layer |= {"patches": 14, "grid": 60}
    matrices = width * width * (per_layer[model.encoder] + per_layer[model.decoder]) * depth / 2
    work = 6 * workload.batch_tokens * (matrices + width * workload.entries) / 80e9
    sequential = 1.5e-3 * workload.tokens * depth if "rnn" in (model.encoder, model.decoder) else 0.0
    return work + sequential + 5e-3
