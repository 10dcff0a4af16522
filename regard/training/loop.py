"""The training loop: it updates a State in place and yields a Report a step. Who reads them draws, writes and saves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from regard.config import TrainingPlan
from regard.data.batches import Batch, Pairs
from regard.errors import UserError
from regard.threads import seed_step
from regard.training.gradients import clip_gradients
from regard.training.loss import Loss
from regard.training.microbatches import Others, Part, backward, part_batch, part_plan
from regard.training.report import Report
from regard.training.schedule import rate
from regard.training.state import State
from regard.weights import clone_weights, weights_of

Validate = Callable[[], dict[str, float]]  # results on the development set, by name


def train(
    state: State, pairs: Pairs, training: TrainingPlan, validate: Validate, others: Others | None = None
) -> Iterator[Report]:
    """Train until a limit is reached. Between two reports the state is whole: it can be saved, and resumed exactly."""
    progress = state.progress
    assert (others is None) == (training.processes == 1), "every part of an update needs somebody"
    total = total_steps(pairs, training)
    began = time.monotonic() - progress.seconds
    for epoch, index, rows, batches in epochs(pairs, training, progress.epoch, progress.index):
        progress.ended = limit_reached(state, training, epoch + index / batches)
        if progress.ended is not None:
            return
        step = progress.step + 1
        now = rate(step, training, total)
        if others is not None:
            others.begin(Part(epoch, index, step))
        batch = part_batch(pairs, rows, training, step)
        seed_step(training.seed, step)
        loss, norm, tokens = update(state, batch, now, training, others)

        progress.step = step
        progress.epoch, progress.index = (epoch, index + 1) if index + 1 < batches else (epoch + 1, 0)
        progress.tokens += tokens
        progress.seconds = time.monotonic() - began
        passes = epoch + (index + 1) / batches
        dev, improved = None, False
        if step % training.evaluate_every == 0 or limit_reached(state, training, passes):
            if others is not None:
                others.rest()
            dev = validate()
            improved = judge(state, dev, training)
            progress.seconds = time.monotonic() - began
        yield Report(step, passes, float(loss.nll), now, norm, tokens, progress.seconds, dev, improved)


def update(
    state: State, batch: Batch, now: float, training: TrainingPlan, others: Others | None = None
) -> tuple[Loss, float, int]:
    """One step at rate `now`: forward, loss, backward, clip, step. Loss, gradient's norm, tokens."""
    state.model.train()
    state.optimizer.zero_grad()
    loss, tokens = backward(state.model, batch, training.label_smoothing, others is not None), batch.token_count
    summed, hands = 1, state.optimizer.hands
    if others is not None:
        loss, tokens = others.join(loss, tokens, hands)
        summed = tokens
    norm = clip_gradients(state.model.parameters(), training.clip, hands, summed)
    if not math.isfinite(norm):
        raise UserError(
            f"training.rate = {training.rate}: the gradient of step {state.progress.step + 1} is {norm}; "
            "train again with a lower rate or a longer warm-up"
        )
    state.optimizer.step(now)
    return loss, norm, tokens


def epochs(pairs: Pairs, training: TrainingPlan, epoch: int, index: int) -> Iterator[tuple[int, int, np.ndarray, int]]:
    """From a position on, endlessly: pass, position in it, rows of the batch, batches of this pass."""
    while True:
        batches = part_plan(pairs, training, epoch)
        for position in range(index, len(batches)):
            yield epoch, position, batches[position], len(batches)
        epoch, index = epoch + 1, 0


def total_steps(pairs: Pairs, training: TrainingPlan) -> int | None:
    """Updates until training.steps or training.epochs ends the run; None where neither is set."""
    limits = [] if training.steps is None else [training.steps]
    if training.epochs is not None:
        limits.append(math.ceil(training.epochs * len(part_plan(pairs, training, 0))))
    return min(limits, default=None)


def limit_reached(state: State, training: TrainingPlan, passes: float) -> str | None:
    """The setting that ends training here, or None."""
    progress = state.progress
    reached = {
        "training.steps": training.steps is not None and progress.step >= training.steps,
        "training.epochs": training.epochs is not None and passes >= training.epochs,
        "training.minutes": training.minutes is not None and progress.seconds >= training.minutes * 60,
        "training.patience": training.patience is not None and progress.stale >= training.patience,
    }
    return next((name for name, value in reached.items() if value), None)


def judge(state: State, dev: dict[str, float], training: TrainingPlan) -> bool:
    """Keep the weights of this look for the average, and as the best where they are; count looks without progress."""
    progress = state.progress
    metric = training.metric
    if training.average:
        state.recent.append(clone_weights(weights_of(state.model)))
    improved = progress.best is None or standing(dev, metric) > standing(progress.best, metric)
    # nothing is better than all right, so there only patience goes on, though the loss may still fall
    complete = metric in ("exact", "accuracy") and progress.best is not None and progress.best[metric] >= 100
    progress.stale = 0 if improved and not complete else progress.stale + 1
    if improved:
        progress.best, progress.best_step = dev, progress.step
        state.best = clone_weights(weights_of(state.model))
    return improved


def standing(dev: dict[str, float], metric: str) -> tuple[float, float]:
    """Higher is better; where the metric ties (exact match is 0 for long), the lower loss wins."""
    return (-dev["loss"] if metric == "loss" else dev[metric], -dev["loss"])
