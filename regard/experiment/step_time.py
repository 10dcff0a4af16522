"""How long a run would take, guessed before there is a model: what its steps and its width are chosen by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.config import ModelSettings, TrainingSettings

USUAL_SECONDS = 1500  # a run without limits of its own ends after about so long on two cores,
ENOUGH_PASSES, MOST_SECONDS = 8, 3000  # or, where so many passes take longer, after them, but not beyond so long
ALONE = (
    1.75  # times as long as on two cores a step takes on one: docs/experiments/home-assistant.md#the-defaults-reviewed
)


@dataclass(frozen=True)
class Reading:
    """How the corpus is read."""

    tokens: float  # of a pair, on its longer side
    batch_tokens: int
    batches: float  # of a pass
    entries: int  # that every token is chosen from


@dataclass(frozen=True)
class Pace:
    """How fast a model reads the corpus."""

    step: float  # seconds
    batches: float  # of a pass

    @classmethod
    def of(cls, model: ModelSettings, reading: Reading, given: TrainingSettings) -> Pace:
        alone = given.threads == 1 and given.processes in (None, 1)
        return cls(step_seconds(model, reading) * (ALONE if alone else 1.0), reading.batches)

    @property
    def one_pass(self) -> float:
        return self.step * self.batches

    def steps(self) -> int:
        """Forty passes, but no more than the time allows; and enough steps to learn anything from a small corpus."""
        seconds = min(max(ENOUGH_PASSES * self.one_pass, USUAL_SECONDS), MOST_SECONDS)
        steps = min(max(40 * self.batches, 1500), max(seconds / self.step, 200))
        return round(steps / 50) * 50

    def is_enough(self, given: TrainingSettings) -> bool:
        """Whether enough passes are asked for, and fit into the minutes that are set, or the most that are taken."""
        asked = min(given.epochs or math.inf, (given.steps or math.inf) / self.batches)
        seconds = MOST_SECONDS if given.minutes is None else 60 * given.minutes
        return asked >= ENOUGH_PASSES and ENOUGH_PASSES * self.one_pass <= seconds


def step_seconds(model: ModelSettings, reading: Reading) -> float:
    """A guess of how long an update takes on two cores: the multiplications, and what every time step costs anew."""
    width = model.width
    depth = (model.encoder_depth or model.depth) + (model.decoder_depth or model.depth)
    per_layer = {"transformer": 14, "convolution": 10, "rnn": {"rnn": 2, "gru": 6, "lstm": 8}[model.cell], "none": 0}
    per_layer |= {"patches": 14, "grid": 60}
    matrices = width * width * (per_layer[model.encoder] + per_layer[model.decoder]) * depth / 2
    work = 6 * reading.batch_tokens * (matrices + width * reading.entries) / 80e9
    sequential = 1.5e-3 * reading.tokens * depth if "rnn" in (model.encoder, model.decoder) else 0.0
    return work + sequential + 5e-3
