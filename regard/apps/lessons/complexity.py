"""The complexity of a computation: time, memory kept for the backward pass, sequential operations, and their growth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import mean, median
from typing import Any, TypeVar

import torch
from torch import Tensor

from regard.apps.lessons.worker_pool import Progress, WorkerPool
from regard.plotting import Points

Key = TypeVar("Key")


def exponent(points: Points) -> float:
    """The e of the power law y = c xᵉ that fits best: the slope of the least-squares line through (log x, log y)."""
    log_x, log_y = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mean_x, mean_y = mean(log_x), mean(log_y)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(log_x, log_y, strict=True))
    return covariance / sum((x - mean_x) ** 2 for x in log_x)


def cpu_seconds(
    work: Mapping[Key, Callable[[], object]], rounds: int, what: str, progress: Progress
) -> dict[Key, float]:
    """The median processor time of each piece of work over interleaved rounds, after a warm-up round.

    All in this process with one thread: processor time is then wall-clock time on an idle machine.
    """
    names = list(work)
    jobs = [name for _ in range(rounds + 1) for name in names]
    times = WorkerPool(1, progress).run(what, lambda name: _time(work[name]), jobs)
    return {name: median(times[index + len(names) :: len(names)]) for index, name in enumerate(names)}


def _time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def saved_bytes(forward: Callable[[], Tensor], without: Iterable[Tensor]) -> int:
    """The bytes that autograd keeps from a forward pass for the backward pass, each storage once.

    `without`: tensors that do not count, such as parameters and inputs.
    """
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = forward()  # its graph keeps the storages alive, so that no address is used twice
    for tensor in without:
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    del output
    return sum(kept.values())


def graph_depth(make: Callable[[], Tensor]) -> int:
    """The depth of the autograd graph of what `make` returns: its longest chain of sequential operations.

    The graph is freed from its end, since the recursive deletion of a chain of thousands would overflow the stack.
    """
    depths = _depths(make().grad_fn)
    depth = max(depths.values())
    while depths:
        depths.popitem()  # the latest entry is nearest to the end
    return depth


def _depths(root: Any) -> dict[Any, int]:
    """The longest chain of operations that leads to each node; nodes nearer to the root come later."""
    depths: dict[Any, int] = {}
    stack: list[Any] = [root]
    while stack:
        inputs = [node for node, _ in stack[-1].next_functions if node is not None]
        unknown = [node for node in inputs if node not in depths]
        if unknown:
            stack += unknown
        else:
            depths[stack.pop()] = 1 + max((depths[node] for node in inputs), default=0)
    return depths
