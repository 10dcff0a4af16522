"""Data-parallel training: several processes share every update, each with few threads that seldom wait for another.

Every process computes the gradient of its own part of the batch, and the parts are of like length. Weights and
gradients lie in memory that all of them see. The first process, the one that trains, adds up the gradients in a fixed
order and makes the step; the others only ever wait for their next part, and end when nobody can ask them any more.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing import get_context

from regard.config import TrainingConfig
from regard.data.batches import Batch, Pairs, make_batch, plan
from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.runtime import prepare, seed_step
from regard.training.loss import Loss, output_loss

SHARED_MEMORY = "/dev/shm"
SECONDS_TO_END = 5.0


@dataclass(frozen=True)
class Part:
    """Which batch of which pass: all else follows from the settings."""

    epoch: int
    index: int
    step: int


@dataclass(frozen=True)
class Helper:
    process: BaseProcess
    connection: Connection
    gradients: list[Tensor]


def part_plan(pairs: Pairs, training: TrainingConfig, epoch: int, rank: int = 0) -> list[np.ndarray]:
    """The rows of each batch of one process in a pass; together they are within the budget of an update."""
    assert training.batch_tokens is not None, "complete the configuration first"
    processes = training.processes or 1
    return plan(pairs, max(training.batch_tokens // processes, 1), training.seed, epoch, rank, processes)


def backward(model: Model, batch: Batch, smoothing: float, summed: bool = False) -> Loss:
    """Add the gradient of the batch's mean loss to the parameters'; `summed`: of the sum over its tokens."""
    features = model.features(batch.source, batch.source_mask, batch.target_in)
    last = model.output_layer
    loss = output_loss(features, last.weight, last.bias, batch.target_out, batch.target_mask, smoothing)
    (loss.smoothed * batch.token_count if summed else loss.smoothed).backward()
    return loss


class Crew:
    """The other processes, from the first part to the end of training."""

    def __init__(self, model: Model, pairs: Pairs, training: TrainingConfig) -> None:
        self._parameters = [one for one in model.parameters() if one.requires_grad]
        self._helpers: list[Helper] = []
        self._model, self._pairs, self._training = model, pairs, training
        self._processes = training.processes or 1
        self._all_threads = torch.get_num_threads()

    def __enter__(self) -> Self:
        _check_room(self._parameters, self._processes)
        self._model.share_memory()
        threads = self._training.threads or max(self._all_threads // self._processes, 1)
        torch.set_num_threads(threads)
        context = get_context("spawn")
        for rank in range(1, self._processes):
            gradients = [torch.zeros_like(one).share_memory_() for one in self._parameters]
            ours, theirs = context.Pipe()
            arguments = (self._model, gradients, self._pairs, self._training, threads, rank, theirs)
            process = context.Process(target=_help, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._helpers.append(Helper(process, ours, gradients))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_num_threads(self._all_threads)
        for helper in self._helpers:
            helper.connection.close()
        for helper in self._helpers:
            helper.process.join(SECONDS_TO_END)
            if helper.process.is_alive():
                helper.process.terminate()

    def begin(self, part: Part) -> None:
        """The others start on their parts of an update."""
        for helper in self._helpers:
            with _asking(helper):
                helper.connection.send(part)

    def join(self, loss: Loss, tokens: int) -> tuple[Loss, int]:
        """All gradients, this process' summed one among them, as that of the mean over all tokens; loss and tokens."""
        whole, smoothed, nll = tokens, loss.smoothed.detach() * tokens, loss.nll * tokens
        for helper in self._helpers:
            with _asking(helper):
                count, its_smoothed, its_nll = helper.connection.recv()
            whole, smoothed, nll = whole + count, smoothed + its_smoothed * count, nll + its_nll * count
            for parameter, gradient in zip(self._parameters, helper.gradients, strict=True):
                if parameter.grad is not None:
                    parameter.grad += gradient
        for parameter in self._parameters:
            if parameter.grad is not None:
                parameter.grad /= whole
        return Loss(smoothed / whole, nll / whole), whole


@contextmanager
def _asking(helper: Helper) -> Iterator[None]:
    """A helper that is gone is told of in one line."""
    try:
        yield
    except (EOFError, OSError):
        helper.process.join(SECONDS_TO_END)
        raise UserError(
            f"training.processes: a process ended unasked (exit code {helper.process.exitcode}), for want of memory "
            "perhaps; go on with --resume, or train anew with --training.processes 1"
        ) from None


def _check_room(parameters: Sequence[Tensor], processes: int) -> None:
    """Weights and gradients lie in shared memory, which a container may have little of; going over it would kill us."""
    needed = processes * sum(one.numel() * one.element_size() for one in parameters)
    try:
        free = shutil.disk_usage(SHARED_MEMORY).free
    except OSError:  # another system, which keeps it elsewhere
        return
    if needed > 0.9 * free:
        raise UserError(
            f"training.processes = {processes}: {needed >> 20:,} MiB of shared memory are needed, {free >> 20:,} MiB "
            f"are free in {SHARED_MEMORY}; make it larger (docker run --shm-size), or set --training.processes 1"
        )


def _help(
    model: Model,
    gradients: list[Tensor],
    pairs: Pairs,
    training: TrainingConfig,
    threads: int,
    rank: int,
    connection: Connection,
) -> None:
    """A helper's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one decides
    prepare(threads)
    model.train()
    parameters = [one for one in model.parameters() if one.requires_grad]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    planned, batches = -1, []
    while True:
        try:
            part = connection.recv()
        except (EOFError, OSError):
            return
        if part.epoch != planned:
            planned, batches = part.epoch, part_plan(pairs, training, part.epoch, rank)
        batch = make_batch(pairs, batches[part.index])
        seed_step(training.seed, part.step, rank)
        for gradient in gradients:
            gradient.zero_()
        loss = backward(model, batch, training.label_smoothing or 0.0, summed=True)
        connection.send((batch.token_count, float(loss.smoothed.detach()), float(loss.nll)))
