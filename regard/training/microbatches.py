"""An update in parts: each has its own batch and its own dropout, and their gradients are added in the order of ranks.

Who computes the parts does not matter: one process in turn (here), or several at once (regard.training.distributed).
"""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import TrainingPlan
from regard.data.batches import Batch, Pairs, make_batch, plan
from regard.models.seq2seq import Model
from regard.threads import ThreadPool, seed_step
from regard.training.gradients import add_gradients
from regard.training.loss import Loss, output_loss


@dataclass(frozen=True)
class Part:
    """Which batch of which pass: all else follows from the settings."""

    epoch: int
    index: int
    step: int


@dataclass(frozen=True)
class Sum:
    """What a part found: sums over its real target tokens. Its gradients stand apart, in the order of parameters."""

    tokens: int
    smoothed: float
    nll: float


def part_plan(pairs: Pairs, training: TrainingPlan, epoch: int, rank: int = 0) -> list[np.ndarray]:
    """The rows of each batch of one rank in a pass; those of all ranks are within the budget of an update."""
    ranks = training.processes
    return plan(pairs, max(training.batch_tokens // ranks, 1), training.seed, epoch, rank, ranks)


def part_batch(pairs: Pairs, rows: np.ndarray, training: TrainingPlan, step: int, rank: int = 0) -> Batch:
    """The batch of one rank in an update, whatever process makes it."""
    seed = (training.seed, step, rank, 1)  # NumPy reads noughts at the end as nothing, and `plan` draws by two numbers
    return make_batch(pairs, rows, seed)


def backward(model: Model, batch: Batch, smoothing: float, summed: bool = False) -> Loss:
    """Add the gradient of the batch's mean loss to the parameters'; `summed`: of the sum over its tokens."""
    features = model.features(batch.source, batch.source_mask, batch.target_in)
    last = model.output_layer
    loss = output_loss(features, last.weight, last.bias, batch.target_out, batch.target_mask, smoothing)
    (loss.smoothed * batch.token_count if summed else loss.smoothed).backward()
    return loss


def trained(model: Model) -> list[nn.Parameter]:
    return [one for one in model.parameters() if one.requires_grad]


class Rank:
    """One rank's part of every update."""

    def __init__(self, model: Model, pairs: Pairs, training: TrainingPlan, rank: int) -> None:
        self._model, self._pairs, self._training, self._rank = model, pairs, training, rank
        self._planned, self._batches = -1, []

    def compute(self, part: Part) -> Sum:
        """Adds the gradient of the sum over the part's tokens to the parameters'."""
        if part.epoch != self._planned:
            self._planned = part.epoch
            self._batches = part_plan(self._pairs, self._training, part.epoch, self._rank)
        batch = part_batch(self._pairs, self._batches[part.index], self._training, part.step, self._rank)
        seed_step(self._training.seed, part.step, self._rank)
        loss = backward(self._model, batch, self._training.label_smoothing, summed=True)
        tokens = batch.token_count
        return Sum(tokens, loss.smoothed.item() * tokens, loss.nll.item() * tokens)


class Others(ABC):
    """The ranks beside the first, which is the loop itself."""

    def __init__(self, model: Model, pairs: Pairs, training: TrainingPlan) -> None:
        self._model, self._pairs, self._training = model, pairs, training
        self._parameters = trained(model)
        self._ranks = range(1, training.processes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @abstractmethod
    def begin(self, part: Part) -> None:
        """The others may start on their parts of an update."""

    @abstractmethod
    def results(self) -> Sequence[tuple[Sum, Sequence[Tensor | None]]]:
        """The sums and gradients of all the others, by rank; the parameters' own gradients stay as they are."""

    def rest(self) -> None:  # noqa: B027 - most need not do anything
        """Nobody but this process has anything to do for a while."""

    def join(self, loss: Loss, tokens: int, hands: ThreadPool) -> tuple[Loss, int]:
        """Adds all gradients to this process' own, which are of a sum over tokens; the mean loss, and all tokens."""
        whole, smoothed, nll = tokens, loss.smoothed.detach() * tokens, loss.nll * tokens
        for found, gradients in self.results():
            whole, smoothed, nll = whole + found.tokens, smoothed + found.smoothed, nll + found.nll
            add_gradients(self._parameters, gradients, hands)
        return Loss(smoothed / whole, nll / whole), whole


class Turns(Others):
    """All parts in this process, one after the other: where there is one core, or no process may be started."""

    def __init__(self, model: Model, pairs: Pairs, training: TrainingPlan) -> None:
        super().__init__(model, pairs, training)
        self._all = [Rank(model, pairs, training, rank) for rank in self._ranks]

    def begin(self, part: Part) -> None:
        self._part = part

    def results(self) -> Sequence[tuple[Sum, Sequence[Tensor | None]]]:
        own = [one.grad for one in self._parameters]
        found = []
        for rank in self._all:
            for parameter in self._parameters:
                parameter.grad = None
            found.append((rank.compute(self._part), [one.grad for one in self._parameters]))
        for parameter, gradient in zip(self._parameters, own, strict=True):
            parameter.grad = gradient
        return found


def at_once(training: TrainingPlan) -> int:
    """How many processes there are: one on one core, where torch was told to keep to one, or where none may start."""
    alone = training.threads is None and torch.get_num_threads() == 1
    return 1 if alone or multiprocessing.current_process().daemon else training.processes


def threads_each(training: TrainingPlan) -> int:
    """CPU threads of each process: as set, or all that torch has now, shared out."""
    return training.threads or max(torch.get_num_threads() // (training.processes), 1)
