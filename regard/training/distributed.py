"""Data-parallel training: several processes share every update, each with few threads that seldom wait for another.

Weights and gradients lie in one file that all of them map into memory. The first process, the one that trains, adds up
the gradients and makes the step; the others only ever wait for their next part, and end when nobody asks any more.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

import torch
from torch import Tensor, nn

from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.threads import children_ignore_signals, configure_torch, set_threads
from regard.training.microbatches import Others, Part, Rank, Sum, Turns, at_once, threads_each, trained

SHARED_MEMORY = Path("/dev/shm")  # never written to a disk; elsewhere, or where it is too small, a file is mapped
SECONDS_TO_END = 5.0


def others(model: Model, pairs: Pairs, training: TrainingPlan) -> Others | None:
    """Who computes the other parts of an update; None where it has one part."""
    if training.processes == 1:
        return None
    return (Turns if at_once(training) == 1 else Crew)(model, pairs, training)


@dataclass(frozen=True)
class Task:
    """What a helper gets to know before its first part."""

    model: Model
    pairs: Pairs
    training: TrainingPlan
    rank: int
    threads: int
    board: str  # the file that holds weights and gradients


@dataclass(frozen=True)
class Helper:
    process: BaseProcess
    connection: Connection
    gradients: Sequence[Tensor]


class Board:
    """A row of numbers for the weights and one for the gradients of each helper, in a file that is mapped."""

    def __init__(self, path: str, parameters: Sequence[Tensor], ranks: int) -> None:
        self._shapes = [one.shape for one in parameters]
        self._row = sum(one.numel() for one in parameters)
        self._whole = torch.from_file(path, shared=True, size=self._row * ranks)

    def row(self, rank: int) -> list[Tensor]:
        """0: the weights; others: the gradients of that rank."""
        pieces = self._whole[rank * self._row : (rank + 1) * self._row].split([one.numel() for one in self._shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]


class Crew(Others):
    """The other ranks as processes, from the first part to the end of training."""

    def __enter__(self) -> Self:
        self._all_threads, self._threads = torch.get_num_threads(), threads_each(self._training)
        self._helpers: list[Helper] = []
        self._folder = tempfile.mkdtemp(prefix="regard-", dir=_roomy(self._parameters, len(self._ranks) + 1))
        try:
            self._gather()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_threads(self._all_threads)
        for helper in self._helpers:
            helper.connection.close()
        for helper in self._helpers:
            helper.process.join(SECONDS_TO_END)
            if helper.process.is_alive():
                helper.process.kill()
        for parameter in self._parameters:
            parameter.data = parameter.data.clone()
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, part: Part) -> None:
        set_threads(self._threads)
        for helper in self._helpers:
            with _asking(helper):
                helper.connection.send(part)

    def results(self) -> Sequence[tuple[Sum, Sequence[Tensor | None]]]:
        found = []
        for helper in self._helpers:
            with _asking(helper):
                found.append((helper.connection.recv(), helper.gradients))
        return found

    def rest(self) -> None:
        set_threads(self._all_threads)

    def _gather(self) -> None:
        """Weights onto the board, and the helpers to work: first all are started, then all are told."""
        path = str(Path(self._folder) / "board")
        board = Board(path, self._parameters, len(self._ranks) + 1)
        tasks = [Task(self._model, self._pairs, self._training, rank, self._threads, path) for rank in self._ranks]
        for rank in self._ranks:
            self._helpers.append(Helper(*_start(), board.row(rank)))
        for helper, task in zip(self._helpers, tasks, strict=True):
            with _asking(helper):
                helper.connection.send(task)
        _move(self._parameters, board.row(0))


def _move(parameters: Sequence[nn.Parameter], places: Sequence[Tensor]) -> None:
    for parameter, place in zip(parameters, places, strict=True):
        place.copy_(parameter.data)
        parameter.data = place


def _start() -> tuple[BaseProcess, Connection]:
    """A process that has not been told anything: its arguments are few, for it may die before it reads them."""
    context = multiprocessing.get_context("spawn")  # a fork would share torch's threads
    ours, theirs = context.Pipe()
    with children_ignore_signals(), _no_main_module():
        process = context.Process(target=_help, args=(theirs,), daemon=True)
        process.start()
    theirs.close()
    return process, ours


@contextmanager
def _no_main_module() -> Iterator[None]:
    """A new process would run the user's script again, unless it is guarded; helpers need nothing of it."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


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


def _roomy(parameters: Sequence[Tensor], rows: int) -> Path | None:
    """Shared memory where there is enough (a container may have little, and to go over it kills), else any folder."""
    needed = rows * sum(one.numel() * one.element_size() for one in parameters)
    try:
        return SHARED_MEMORY if shutil.disk_usage(SHARED_MEMORY).free > 1.1 * needed else None
    except OSError:  # another system, which has none
        return None


def _help(connection: Connection) -> None:
    """A helper's life. Ctrl-C reaches all processes, but the first one decides: helpers began deaf to it."""
    try:
        task: Task = connection.recv()
        configure_torch(task.threads)
        task.model.train()
        parameters = trained(task.model)
        board = Board(task.board, parameters, (task.training.processes))
        gradients = board.row(task.rank)
        for parameter, place in zip(parameters, board.row(0), strict=True):
            parameter.data = place
        rank = Rank(task.model, task.pairs, task.training, task.rank)
        while True:
            part = connection.recv()
            for parameter in parameters:
                parameter.grad = None
            found = rank.compute(part)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if parameter.grad is None:
                    gradient.zero_()
                else:
                    gradient.copy_(parameter.grad)
            connection.send(found)
    except (EOFError, OSError):  # nobody can ask any more
        return
