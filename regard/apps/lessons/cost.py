"""What a computation costs: its time, what it keeps for the way back, how much of it is in series, how that grows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import mean, median
from typing import Any, TypeVar

import torch
from torch import Tensor

from regard.apps.lessons.trials import Progress, Trials
from regard.plotting import Points

Key = TypeVar("Key")


def exponent(points: Points) -> float:
    """The e of y = c xᵉ that fits best: the slope of the least-squares line through (log x, log y)."""
    x, y = [math.log(one) for one, _ in points], [math.log(one) for _, one in points]
    middle_x, middle_y = mean(x), mean(y)
    products = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - middle_x) ** 2 for a in x)


def seconds(work: Mapping[Key, Callable[[], object]], rounds: int, what: str, progress: Progress) -> dict[Key, float]:
    """The median time of each piece of work over rounds that take turns, after one that does not count.

    All of it in this process with one thread, so that nothing runs beside it; processor time, which on an idle machine
    is what the clock says, and on a busy one is what it would say.
    """
    names = list(work)
    jobs = [name for _ in range(rounds + 1) for name in names]
    taken = Trials(1, progress).run(what, lambda name: _time(work[name]), jobs)
    return {name: median(taken[place + len(names) :: len(names)]) for place, name in enumerate(names)}


def _time(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def saved_bytes(forward: Callable[[], Tensor], without: Iterable[Tensor]) -> int:
    """What autograd keeps of a forward pass until the way back, each storage once; `without`: parameters and inputs."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = forward()  # its graph holds what was kept, so that no place is used twice
    for tensor in without:
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    del output
    return sum(kept.values())


def steps_in_series(make: Callable[[], Tensor]) -> int:
    """The longest chain of operations that lead to what is made, each waiting for the one before: its graph's depth.

    The graph is taken apart from its end: left to itself, a chain of thousands that Python saw overflows the stack.
    """
    depths = _depths(make().grad_fn)
    depth = max(depths.values())
    while depths:
        depths.popitem()  # the newest, which stands nearest to the end
    return depth


def _depths(root: Any) -> dict[Any, int]:
    """How long the chain is that leads to each node; nodes nearer to the root stand later."""
    depths: dict[Any, int] = {}
    stack: list[Any] = [root]
    while stack:
        below = [one for one, _ in stack[-1].next_functions if one is not None]
        waiting = [one for one in below if one not in depths]
        if waiting:
            stack += waiting
        else:
            depths[stack.pop()] = 1 + max((depths[one] for one in below), default=0)
    return depths
