"""Gradient accumulation: an update's batch in M microbatches, each with its own dropout; their gradients are summed.

    g = Σ_m tokens_m · ∇loss_m / Σ_m tokens_m        loss_m: the mean over the real target tokens of microbatch m

One process computes all of them in turn; in data-parallel training (regard.training.distributed) each rank computes
some, and an all-reduce takes the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from regard.config import TrainingPlan
from regard.data.batches import Batch, Pairs, make_batch, plan
from regard.models.seq2seq import Model
from regard.nn.copying import CopyOutput
from regard.threads import seed_step
from regard.training.loss import Loss, cross_entropy, output_loss


class Position(NamedTuple):
    """Which update this is: with the settings it decides batches and dropout."""

    epoch: int
    index: int  # of the batch in the epoch
    step: int


@dataclass(frozen=True)
class Accumulated:
    """What the microbatches gave; their gradients are in the parameters' `.grad`."""

    loss: Loss  # the mean over all tokens
    tokens: int  # real target tokens
    divisor: int  # that makes the gradients those of the mean loss: their tokens, or 1 where they are already


def microbatch_plan(pairs: Pairs, training: TrainingPlan, epoch: int, index: int = 0) -> list[np.ndarray]:
    """The rows of the index-th microbatch of each update in an epoch; those of one update share its token budget."""
    count = training.microbatches
    return plan(pairs, max(training.batch_tokens // count, 1), training.seed, epoch, index, count)


def make_microbatch(pairs: Pairs, rows: np.ndarray, training: TrainingPlan, step: int, index: int = 0) -> Batch:
    """The batch of one microbatch: the same on every rank."""
    seed = (training.seed, step, index, 1)  # NumPy ignores zeros at the end, and `plan` draws by two numbers
    return make_batch(pairs, rows, seed)


class Microbatches:
    """The microbatches that one rank computes: index ≡ rank (mod world_size)."""

    def __init__(self, pairs: Pairs, training: TrainingPlan, rank: int = 0, world_size: int = 1) -> None:
        self._pairs, self._training = pairs, training
        self._indices = range(rank, training.microbatches, world_size)
        self._epoch = -1
        self._plans: list[list[np.ndarray]] = []

    def updates(self, epoch: int) -> int:
        """How many an epoch has."""
        return len(self._epoch_plans(epoch)[0])

    def at(self, position: Position) -> Iterator[Batch]:
        """Each batch in turn, with torch's generator seeded for it."""
        seed, step = self._training.seed, position.step
        for index, plans in zip(self._indices, self._epoch_plans(position.epoch), strict=True):
            batch = make_microbatch(self._pairs, plans[position.index], self._training, step, index)
            seed_step(seed, step, index)
            yield batch

    def _epoch_plans(self, epoch: int) -> list[list[np.ndarray]]:
        if epoch != self._epoch:
            self._epoch = epoch
            self._plans = [microbatch_plan(self._pairs, self._training, epoch, index) for index in self._indices]
        return self._plans


def accumulate(model: Model, batches: Iterable[Batch], smoothing: float, summed: bool = False) -> Accumulated:
    """Replace the parameters' gradients by those of these batches; `summed`: of the sum over tokens, not the mean."""
    for parameter in trained_parameters(model):
        parameter.grad = None
    losses, tokens = [], []
    for batch in batches:
        losses.append(backward(model, batch, smoothing, summed))
        tokens.append(batch.token_count)
    assert summed or len(losses) == 1, "gradients of means do not add up"
    if len(losses) == 1:
        return Accumulated(losses[0], tokens[0], tokens[0] if summed else 1)
    total = sum(tokens)
    smoothed = sum(loss.smoothed.detach() * count for loss, count in zip(losses, tokens, strict=True)) / total
    nll = sum(loss.nll * count for loss, count in zip(losses, tokens, strict=True)) / total
    assert isinstance(smoothed, Tensor) and isinstance(nll, Tensor)
    return Accumulated(Loss(smoothed, nll), total, total)


def backward(model: Model, batch: Batch, smoothing: float, summed: bool = False) -> Loss:
    """Add the gradient of the batch's mean loss to the parameters'; `summed`: of the sum over its tokens."""
    features = model.features(batch.source, batch.source_mask, batch.target_in)
    last = model.output_layer
    if isinstance(last, CopyOutput):
        loss = cross_entropy(last(features), batch.target_out, batch.target_mask, smoothing)
    else:
        loss = output_loss(features, last.weight, last.bias, batch.target_out, batch.target_mask, smoothing)
    (loss.smoothed * batch.token_count if summed else loss.smoothed).backward()
    return loss


def trained_parameters(model: Model) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
