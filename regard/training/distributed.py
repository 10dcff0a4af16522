"""Data-parallel training by torch.distributed (gloo): one process a rank, one all-reduce of all gradients an update.

Rank 0 trains as one process would. Every other rank receives the model and the pairs from it, computes its own
microbatches and makes the same optimizer step, so weights and moments are equal everywhere without being sent again.
The ranks are started here, each with one line of Python, or by torchrun, which also starts them on several machines.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.child import python_command
from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.threads import children_ignore_signals
from regard.training.loss import Loss
from regard.training.microbatches import Accumulated, Position

SECONDS_TO_START, SECONDS_TO_END = 120.0, 5.0
# A suspended laptop must not end a run; a local rank that dies closes its connection, which is noticed without delay.
LOCAL_TIMEOUT = timedelta(days=7)
REPLICA = "from regard.training.replica import main; main()"


def launched_by_torchrun() -> bool:
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ and "MASTER_ADDR" in os.environ


def torchrun_rank() -> int:
    """0 also where there is no torchrun: the rank that writes, prints and validates."""
    return int(os.environ["RANK"]) if launched_by_torchrun() else 0


def torchrun_world_size() -> int:
    return int(os.environ["WORLD_SIZE"]) if launched_by_torchrun() else 1


@dataclass(frozen=True)
class ReplicaJob:
    """What every other rank receives from rank 0."""

    model: Model
    moments: dict[str, Tensor]
    pairs: Pairs
    training: TrainingPlan
    threads: int
    position: Position  # of the next update
    trials: Sequence[Position]  # of updates that are timed before it, and not made
    rate_factor: float


class GradientRow:
    """The gradients of all parameters and four numbers in one tensor, so that an update needs one all-reduce."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters
        sizes = [parameter.numel() for parameter in parameters]
        self._row = torch.zeros(sum(sizes) + 4)
        *pieces, self._numbers = self._row.split([*sizes, 4])
        self._views = [piece.view_as(parameter) for piece, parameter in zip(pieces, parameters, strict=True)]

    def all_reduce(self, accumulated: Accumulated) -> Accumulated | None:
        """The sum over all ranks, in the parameters' gradients; None where a rank stops instead (`stop`)."""
        loss, tokens = accumulated.loss, accumulated.tokens
        for parameter, view in zip(self._parameters, self._views, strict=True):
            if parameter.grad is None:
                view.zero_()
            else:
                view.copy_(parameter.grad)
                parameter.grad = view
        numbers = [float(tokens), float(loss.smoothed.detach() * tokens), float(loss.nll * tokens), 0.0]
        return self._reduce(numbers)

    def stop(self) -> None:
        """Ends training on all ranks, before the update that they are computing."""
        self._row.zero_()
        self._reduce([0.0, 0.0, 0.0, 1.0])

    def _reduce(self, numbers: list[float]) -> Accumulated | None:
        self._numbers.copy_(torch.tensor(numbers))
        dist.all_reduce(self._row)
        tokens, smoothed, nll, stops = self._numbers.clone()
        if stops > 0:
            return None
        total = int(tokens)
        return Accumulated(Loss(smoothed / total, nll / total), total, total)


class LocalRanks:
    """Ranks 1 and up as processes on this machine, in one process group with this process as rank 0."""

    def __init__(self, world_size: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="regard-")
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start(world_size)
        except BaseException:
            self.close(kill=True)
            raise

    def close(self, kill: bool = False) -> None:
        """Wait for the other ranks, which end after their job; `kill`: do not wait."""
        if dist.is_initialized():
            dist.destroy_process_group()
        for process in self._processes:
            try:
                process.wait(0 if kill else SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def lost(self) -> UserError:
        """Which rank ended, and how."""
        end = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < end:
            for rank, process in enumerate(self._processes, 1):
                if process.poll() is not None:
                    return _lost(f"the process of rank {rank} ended (exit code {process.returncode})")
            time.sleep(0.01)
        return _lost("the connection to another rank was lost")

    def _start(self, world_size: int) -> None:
        file = str(Path(self._folder) / "store")  # a file, because a TCP store listens to the whole network
        command = python_command(REPLICA)
        for rank in range(1, world_size):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(world_size), "REGARD_STORE": file}
            # in a session of its own, a rank does not receive the terminal's Ctrl-C: rank 0 decides
            with children_ignore_signals():
                process = subprocess.Popen(
                    command,
                    env=os.environ | variables,
                    stdin=subprocess.DEVNULL,
                    stdout=sys.stderr,
                    start_new_session=True,
                )
            self._processes.append(process)
        store = dist.FileStore(file, world_size)
        end = time.monotonic() + SECONDS_TO_START
        while not store.check([f"started/{rank}" for rank in range(1, world_size)]):
            if time.monotonic() > end or any(process.poll() is not None for process in self._processes):
                raise self.lost()
            time.sleep(0.01)
        _join(store, 0, world_size)


def join_local() -> None:
    """The group that rank 0 on this machine has begun."""
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.FileStore(os.environ["REGARD_STORE"], world_size)
    store.set(f"started/{rank}", "")
    _join(store, rank, world_size)


def join_torchrun() -> None:
    if not dist.is_initialized():
        dist.init_process_group("gloo")


def _join(store: dist.Store, rank: int, world_size: int) -> None:
    with _loopback():
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size, timeout=LOCAL_TIMEOUT)


@contextmanager
def _loopback() -> Iterator[None]:
    """Gloo would otherwise look up this machine's name, which a laptop without a network may not resolve."""
    names = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    before = os.environ.get("GLOO_SOCKET_IFNAME")
    if names:
        os.environ["GLOO_SOCKET_IFNAME"] = names[0]
    try:
        yield
    finally:
        os.environ.pop("GLOO_SOCKET_IFNAME", None)
        if before is not None:
            os.environ["GLOO_SOCKET_IFNAME"] = before


def broadcast_object(value: Any = None) -> Any:
    """Rank 0's value, on every rank."""
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def share_result(value: Any = None) -> Any:
    """Rank 0's value, on every rank. Rank 0 waits until all have it: were it to end sooner, they could lose it."""
    value = broadcast_object(value)
    received = [torch.zeros(1) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    dist.gather(torch.zeros(1), received, dst=0)
    return value


def is_lost_connection(error: RuntimeError) -> bool:
    """Gloo has no class of errors of its own."""
    return "onnection" in str(error) or "gloo" in str(error) or "Timed out" in str(error)


def _lost(what: str) -> UserError:
    return UserError(
        f"training.processes: {what}, for want of memory perhaps; "
        "continue with --resume, with --training.processes 1 if it happens again"
    )
