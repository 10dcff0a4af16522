"""How long a run will take and how much memory it needs: measured on a few of its own batches before the first step."""

from __future__ import annotations

import sys
import time
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch

from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.threads import seed_step, set_threads
from regard.training.microbatches import backward, part_batch, part_plan, threads_each
from regard.training.report import clock
from regard.training.state import State, new_state

SHORT = 100  # steps: the answer would be there before the estimate
TRIED = 3  # batches of usual size


@dataclass(frozen=True)
class Estimate:
    """Of training alone; what a look at the development set takes comes on top."""

    steps: int | None
    step_seconds: float
    memory: int | None  # bytes at the peak, of all processes; None where the system does not tell
    batches: int  # of a pass
    done: int = 0  # steps, before these

    @property
    def seconds(self) -> float | None:
        return None if self.steps is None else self.steps * self.step_seconds

    def text(self, minutes: float | None) -> str:
        """For people, in a line; `minutes`: where the clock ends training, if it does."""
        each = f"{self.step_seconds:.2g} s a step"
        if self.seconds is not None and (minutes is None or self.seconds < 60 * minutes):
            each = f"{self._steps(self.steps or 0)} in about {clock(self.seconds)}, {each}"
        elif minutes is not None:
            each = f"about {self._steps(60 * minutes / self.step_seconds)} in {clock(60 * minutes)}, {each}"
        memory = "" if self.memory is None else f"; {self.memory / 2**30:.1f} GiB of memory"
        return f"estimate: {each}, without the looks at dev{memory}"

    def _steps(self, steps: float) -> str:
        passes = steps / self.batches
        epochs = f"{passes:.1f} epochs" if passes >= 1 else f"{passes:.2g} epochs"
        unread = ": not every pair is read" if self.done + steps < self.batches else ""
        return f"{steps:,.0f} steps ({epochs}{unread})"


def estimate(state: State, pairs: Pairs, training: TrainingPlan, steps: int | None) -> Estimate | None:
    """Gradients of a few batches, thrown away: weights and moments stay as they are. None for a short run."""
    left = None if steps is None else max(steps - state.progress.step, 0)
    if left is not None and left < SHORT:
        return None
    plan = part_plan(pairs, training, 0)
    batches = [part_batch(pairs, rows, training, 0) for rows in _chosen(plan, pairs)]
    state.model.train()
    all_threads = torch.get_num_threads()
    set_threads(threads_each(training))
    seconds = []
    for batch in batches:
        seed_step(training.seed, 0)
        began = time.perf_counter()
        backward(state.model, batch, training.label_smoothing)
        seconds.append(time.perf_counter() - began)
        if batch is not batches[-1]:
            state.optimizer.zero_grad()
    set_threads(all_threads)
    stepping = _step_seconds(state, training)
    weights = sum(one.numel() * one.element_size() for one in state.model.parameters())
    copies = 2 + 1 + training.average  # moments, the best, and those to average
    peak = _peak()
    memory = None if peak is None else peak * training.processes + copies * weights
    return Estimate(left, sum(seconds[1:]) / len(seconds[1:]) + stepping, memory, len(plan), state.progress.step)


def _step_seconds(state: State, training: TrainingPlan) -> float:
    """How long the optimizer takes, tried on a copy with the gradients that are there, which are thrown away."""
    copy = deepcopy(state.model)
    trial = new_state(copy, training).optimizer
    for parameter, own in zip(copy.parameters(), state.model.parameters(), strict=True):
        parameter.grad = own.grad
    state.optimizer.zero_grad()
    trial.step(0.0)
    began = time.perf_counter()
    trial.step(0.0)
    return time.perf_counter() - began


def _chosen(batches: list[np.ndarray], pairs: Pairs) -> list[np.ndarray]:
    """The largest batch first, for the memory and to warm up; then some from the whole range of lengths."""
    sizes = [
        len(rows) * int(max(pairs.source_lengths[rows].max(), pairs.target_lengths[rows].max())) for rows in batches
    ]
    lengths = [int(pairs.target_lengths[rows].max()) for rows in batches]
    ordered = sorted(range(len(batches)), key=lengths.__getitem__)
    usual = [ordered[len(ordered) * (2 * place + 1) // (2 * TRIED)] for place in range(TRIED)]
    largest = max(range(len(batches)), key=lambda one: (sizes[one], lengths[one]))
    return [batches[place] for place in (largest, *usual)]


def _peak() -> int | None:
    """Bytes that this process ever held."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
