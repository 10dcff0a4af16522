"""The training loop: it updates a TrainingState in place and yields a StepReport after each update."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.errors import UserError
from regard.training.checkpoint_selection import record_validation
from regard.training.gradients import clip_gradients
from regard.training.microbatches import Accumulated, Microbatches, Position, microbatch_plan
from regard.training.report import StepReport
from regard.training.schedule import learning_rate
from regard.training.state import TrainingState
from regard.training.team import Team

Validate = Callable[[], dict[str, float]]  # results on the development set, by name


class Divergence(Exception):  # noqa: N818
    """A loss or a gradient that is not finite, before it reached the weights."""

    def __init__(self, what: str, where: str, rate: float) -> None:
        super().__init__(what)
        self.what, self.where, self.rate = what, where, rate

    def refusal(self) -> UserError:
        """For the user."""
        return UserError(
            f"{self.where}: {self.what} at a learning rate of {self.rate:.3g}; the run is saved as it was; "
            "train again with a lower training.rate, more training.warmup_steps, or training.on_divergence = 'halve'"
        )


def train(
    state: TrainingState, pairs: Pairs, training: TrainingPlan, validate: Validate, team: Team
) -> Iterator[StepReport]:
    """Train until a limit is reached. Between two reports the state is whole: it can be saved, and resumed exactly."""
    progress = state.progress
    total = total_steps(pairs, training)
    began = time.monotonic() - progress.seconds
    for epoch, index, updates in epochs(team.microbatches, progress.epoch, progress.index):
        progress.ended = limit_reached(state, training, epoch + index / updates)
        if progress.ended is not None:
            return
        step, step_began = progress.step + 1, time.monotonic()
        rate = learning_rate(step, training, total) * progress.rate_factor
        state.model.train()
        accumulated = team.accumulate(Position(epoch, index, step))
        if accumulated is None:  # another rank was told to stop
            return
        try:
            norm = update(state, accumulated, rate, training)
        except Divergence as divergence:
            divergence.where = f"step {step} (batch {index + 1} of {updates} of epoch {epoch + 1})"
            raise

        progress.step = step
        progress.epoch, progress.index = (epoch, index + 1) if index + 1 < updates else (epoch + 1, 0)
        progress.tokens += accumulated.tokens
        step_seconds = time.monotonic() - step_began
        progress.seconds = time.monotonic() - began
        fractional_epoch = epoch + (index + 1) / updates
        dev, improved = None, False
        if step % training.evaluate_every == 0 or limit_reached(state, training, fractional_epoch):
            team.rest()
            dev = validate()
            improved = record_validation(state, dev, training)
            progress.seconds = time.monotonic() - began
        loss, tokens = float(accumulated.loss.nll), accumulated.tokens
        yield StepReport(
            step, fractional_epoch, loss, rate, norm, tokens, progress.seconds, step_seconds, dev, improved
        )


def update(state: TrainingState, accumulated: Accumulated, rate: float, training: TrainingPlan) -> float:
    """One step of the optimizer from accumulated gradients; their norm before clipping."""
    norm = clip_gradients(state.model.parameters(), training.clip, accumulated.divisor)
    loss = float(accumulated.loss.nll)
    if not (math.isfinite(norm) and math.isfinite(loss)):
        what = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
        raise Divergence(what, f"step {state.progress.step + 1}", rate)
    state.optimizer.step(rate)
    return norm


def epochs(microbatches: Microbatches, epoch: int, index: int) -> Iterator[tuple[int, int, int]]:
    """From a position on, without end: the epoch, the index of the update in it, and the epoch's number of updates."""
    while True:
        updates = microbatches.updates(epoch)
        for position in range(index, updates):
            yield epoch, position, updates
        epoch, index = epoch + 1, 0


def total_steps(pairs: Pairs, training: TrainingPlan) -> int | None:
    """Updates until training.steps or training.epochs ends the run; None where neither is set."""
    limits = [] if training.steps is None else [training.steps]
    if training.epochs is not None:
        limits.append(math.ceil(training.epochs * len(microbatch_plan(pairs, training, 0))))
    return min(limits, default=None)


def limit_reached(state: TrainingState, training: TrainingPlan, epoch: float) -> str | None:
    """The setting that ends training here, or None."""
    progress = state.progress
    reached = {
        "training.steps": training.steps is not None and progress.step >= training.steps,
        "training.epochs": training.epochs is not None and epoch >= training.epochs,
        "training.minutes": training.minutes is not None and progress.seconds >= training.minutes * 60,
        "training.patience": training.patience is not None and progress.stale >= training.patience,
    }
    return next((name for name, value in reached.items() if value), None)
