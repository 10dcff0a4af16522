"""Which team computes a run, how long it will take and how much memory it needs: measured on a few of its batches."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from regard.config import TrainingPlan
from regard.data.batches import Pairs
from regard.training.microbatches import Position, microbatch_plan
from regard.training.report import clock
from regard.training.state import TrainingState, new_state
from regard.training.team import Team, team_sizes

SHORT = 100  # steps: they would be over before the estimate
TRIED = 3  # batches of usual size
SECONDS_TO_GAIN = 60.0  # what is over sooner is not worth starting another process, which takes 3 s
CLEARLY = 1.5


@dataclass(frozen=True)
class Estimate:
    """Of training alone, without validation."""

    steps: int | None
    step_seconds: float
    memory: int | None  # bytes at the peak, of all processes; None where the system does not tell
    batches: int  # of an epoch
    done: int = 0  # steps, before these
    team: str = ""

    @property
    def seconds(self) -> float | None:
        return None if self.steps is None else self.steps * self.step_seconds

    def text(self, minutes: float | None) -> str:
        """For people, in a line; `minutes`: where the clock ends training, if it does."""
        speed = f"{self.step_seconds:.2g} s a step"
        if self.seconds is not None and (minutes is None or self.seconds < 60 * minutes):
            speed = f"{self._steps(self.steps or 0)} in about {clock(self.seconds)}, {speed}"
        elif minutes is not None:
            speed = f"about {self._steps(60 * minutes / self.step_seconds)} in {clock(60 * minutes)}, {speed}"
        memory = "" if self.memory is None else f"; {self.memory / 2**30:.1f} GiB of memory"
        team = self.team and f"; {self.team}"
        return f"estimate: {speed}, without validation{team}{memory}"

    def _steps(self, steps: float) -> str:
        count = steps / self.batches
        epochs = f"{count:.1f} epochs" if count >= 1 else f"{count:.2g} epochs"
        unread = ": not every pair is read" if self.done + steps < self.batches else ""
        return f"{steps:,.0f} steps ({epochs}{unread})"


def choose_team(
    state: TrainingState, pairs: Pairs, training: TrainingPlan, steps: int | None, estimated: bool = True
) -> tuple[Team, Estimate | None]:
    """The fastest of the teams that may compute this run, started; and an estimate, but not of a short run.

    Each is timed on a few batches: their gradients are thrown away, weights and moments stay as they are.
    """
    usual, *others = team_sizes(training)
    left = None if steps is None else max(steps - state.progress.step, 0)
    if (left is not None and left < SHORT) or not (others or estimated):
        return Team(usual, state, pairs, training), None
    plan = microbatch_plan(pairs, training, 0)
    trials = [Position(0, index, 0) for index in _typical(plan, pairs)]
    state.model.train()
    team = Team(usual, state, pairs, training, trials)
    seconds = _time(team, trials)
    for size in others:
        if left is not None and left * seconds < SECONDS_TO_GAIN:
            break
        other = Team(size, state, pairs, training, trials)
        other_seconds = _time(other, trials)
        # other processes give the same result, another number of threads not to the bit: it must be worth it
        if other_seconds * (CLEARLY if size.threads != usual.threads else 1.0) < seconds:
            team, other, seconds = other, team, other_seconds
        other.close()
    seconds += _optimizer_seconds(state, training)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in state.model.parameters())
    copies = 2 + 1 + training.average  # moments, the best, and those to average
    peak = _peak()
    memory = None if peak is None else peak * team.size.processes + copies * weights
    return team, Estimate(left, seconds, memory, len(plan), state.progress.step, str(team.size))


def _time(team: Team, trials: Sequence[Position]) -> float:
    """Mean seconds of an update's gradients; the first trial only warms up."""
    seconds = []
    try:
        for position in trials:
            began = time.perf_counter()
            team.accumulate(position)
            seconds.append(time.perf_counter() - began)
    except BaseException as error:
        team.close(error)
        raise
    team.rest()
    return sum(seconds[1:]) / len(seconds[1:])


def _optimizer_seconds(state: TrainingState, training: TrainingPlan) -> float:
    """How long the optimizer takes, on a copy of the model with the gradients that are there; they are thrown away."""
    copy = deepcopy(state.model)
    trial = new_state(copy, training).optimizer
    for parameter, own in zip(copy.parameters(), state.model.parameters(), strict=True):
        parameter.grad = own.grad
    state.optimizer.zero_grad()
    trial.step(0.0)
    began = time.perf_counter()
    trial.step(0.0)
    return time.perf_counter() - began


def _typical(batches: list[np.ndarray], pairs: Pairs) -> list[int]:
    """Indices of the largest batch, for the memory and to warm up, and of some over the whole range of lengths."""
    sizes = [
        len(rows) * int(max(pairs.source_lengths[rows].max(), pairs.target_lengths[rows].max())) for rows in batches
    ]
    lengths = [int(pairs.target_lengths[rows].max()) for rows in batches]
    ordered = sorted(range(len(batches)), key=lengths.__getitem__)
    usual = [ordered[len(ordered) * (2 * i + 1) // (2 * TRIED)] for i in range(TRIED)]
    largest = max(range(len(batches)), key=lambda index: (sizes[index], lengths[index]))
    return [largest, *usual]


def _peak() -> int | None:
    """Bytes that this process ever held."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
