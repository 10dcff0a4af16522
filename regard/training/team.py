"""The team: the processes and threads that compute an update. It decides how long the update takes, not its result."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import Self

import torch
import torch.distributed as dist

from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.errors import UserError
from regard.threads import set_threads
from regard.training.distributed import (
    GradientRow,
    LocalRanks,
    ReplicaJob,
    broadcast_object,
    is_lost_connection,
    join_torchrun,
    torchrun_world_size,
)
from regard.training.microbatches import (
    Accumulated,
    Microbatches,
    Position,
    accumulate,
    trained_parameters,
)
from regard.training.state import TrainingState

MUCH_SLOWER, LATEST, ENOUGH = 3.0, 10, 20  # times as long; steps that are compared; with so many at least


@dataclass(frozen=True)
class TeamSize:
    processes: int
    threads: int  # of each

    def __str__(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{processes} of {self.threads} thread{'s'[: self.threads != 1]}"


def team_sizes(training: TrainingPlan) -> list[TeamSize]:
    """The teams that may compute this run, the one that needs no other process first.

    All have equally many threads a process, so that sums are taken in the same order; only where an update has one
    microbatch, one thread may replace all.
    """
    count, threads = training.microbatches, torch.get_num_threads()
    threads_each = training.threads or max(threads // count, 1)
    if (world_size := torchrun_world_size()) > 1:
        if world_size > count:
            raise UserError(
                f"training.microbatches = {count}, but torchrun has started {world_size} processes; "
                f"start {count} at most"
            )
        return [TeamSize(world_size, training.threads or max(threads // _local_world_size(), 1))]
    if training.processes is not None:
        return [TeamSize(training.processes, threads_each)]
    if count > 1:
        return [TeamSize(1, threads_each), *([TeamSize(min(count, threads), threads_each)] if threads > 1 else [])]
    return [TeamSize(1, threads_each), *([TeamSize(1, 1)] if training.threads is None and threads_each > 1 else [])]


class Team:
    """Computes the gradients of updates; leave its context to end the other processes."""

    def __init__(
        self,
        size: TeamSize,
        state: TrainingState,
        pairs: Pairs,
        training: TrainingPlan,
        trials: Sequence[Position] = (),
    ) -> None:
        """Starts the other processes. `trials`: updates to be computed first, to time them."""
        self.size = size
        self._model, self._smoothing = state.model, training.label_smoothing
        self._summed = training.microbatches > 1
        self._all_threads = torch.get_num_threads()
        self.microbatches = Microbatches(pairs, training, 0, size.processes)
        self._row: GradientRow | None = None
        self._local: LocalRanks | None = None
        if size.processes > 1:
            if torchrun_world_size() > 1:
                join_torchrun()
            else:
                self._local = LocalRanks(size.processes)
            progress = state.progress
            position = Position(progress.epoch, progress.index, progress.step + 1)
            factor = progress.rate_factor
            moments = state.optimizer.moments()
            job = ReplicaJob(state.model, moments, pairs, training, size.threads, position, trials, factor)
            try:
                broadcast_object(job)
            except BaseException as error:
                self.close(error)
                raise
            self._row = GradientRow(trained_parameters(state.model))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    def accumulate(self, position: Position) -> Accumulated | None:
        """The gradients of an update, in the parameters; None where another rank was told to stop."""
        if torch.get_num_threads() != self.size.threads:
            set_threads(self.size.threads)
        accumulated = accumulate(self._model, self.microbatches.at(position), self._smoothing, self._summed)
        if self._row is None:
            return accumulated
        try:
            return self._row.all_reduce(accumulated)
        except RuntimeError as error:
            if not is_lost_connection(error):
                raise
            if self._local is None:
                raise UserError(
                    "torchrun: the connection to another rank was lost; start all ranks again with --resume"
                ) from None
            raise self._local.lost() from None

    def rest(self) -> None:
        """Gives this process all threads until the next update, for validation."""
        set_threads(self._all_threads)

    def close(self, error: BaseException | None = None) -> None:
        """End the other ranks; after an error without waiting for them."""
        failed = error is not None and not isinstance(error, GeneratorExit)
        try:
            if self._row is not None and not failed:
                self._row.stop()
        except RuntimeError:  # the other ranks have gone already
            failed = True
        finally:
            if self._local is not None:
                self._local.close(kill=failed)
            self.rest()


def _local_world_size() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", dist.get_world_size() if dist.is_initialized() else 1))


class StepWatch:
    """Notices when an update takes three times as long as usual: another program may need the processors."""

    def __init__(self) -> None:
        self._usual: deque[float] = deque(maxlen=1000)
        self._latest: deque[float] = deque(maxlen=LATEST)

    def add(self, seconds: float) -> float | None:
        """How many times as long as usual the latest steps took, where it is three times or more."""
        if len(self._latest) == LATEST:
            self._usual.append(self._latest[0])
        self._latest.append(seconds)
        if len(self._usual) < ENOUGH:
            return None
        slower = median(self._latest) / median(self._usual)
        return slower if slower >= MUCH_SLOWER else None
