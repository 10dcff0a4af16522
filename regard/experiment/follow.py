"""A run while it trains: reports are shown and written, the state is saved, and a slow team is chosen anew."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from regard.checkpoint import MODEL, STATE
from regard.experiment.setup import Setup
from regard.threads import Interrupt
from regard.training import loop
from regard.training.estimate import choose_team
from regard.training.report import Metrics, ProgressLine
from regard.training.state import TrainingState
from regard.training.team import StepWatch, team_sizes
from regard.weights import write_tensors

METRICS = "metrics.jsonl"
SAVE_SECONDS = 60  # at least so often the training state is written


def follow_training(
    setup: Setup,
    state: TrainingState,
    metrics: Metrics,
    line: ProgressLine,
    validate: loop.Validate,
    out: Path,
    estimated: bool,
) -> bool:
    """Train to the end or to Ctrl-C, saving on the way; True if it was Ctrl-C."""
    training, total = setup.plan.training, loop.total_steps(setup.train, setup.plan.training)
    with line, Interrupt() as interrupt:
        team, estimate = choose_team(state, setup.train, training, total, estimated)
        if estimate is not None:
            line.say(estimate.text(training.minutes))
        warned = False
        while True:
            watch, slower = StepWatch(), None
            with team:
                saved = time.monotonic()
                for report in loop.train(state, setup.train, training, validate, team):
                    metrics.add(report)
                    line.show(report)
                    if report.dev is not None or interrupt.asked or time.monotonic() - saved > SAVE_SECONDS:
                        metrics.flush()
                        save_state(state, out)
                        if report.improved and state.best is not None:
                            write_tensors(out / MODEL, state.best)
                        saved = time.monotonic()
                    if interrupt.asked:
                        return True
                    slower = slower or watch.add(report.step_seconds)
                    if slower is not None and not warned:
                        line.say(f"note: a step takes {slower:.1f} times as long as before; another program may run")
                        warned = True
                    if slower is not None and report.dev is not None and len(team_sizes(training)) > 1:
                        break
                else:
                    return state.progress.ended is None  # another rank was told to stop
            team, _ = choose_team(state, setup.train, training, total)
            line.say(f"training continues with {team.size}")


def save_state(state: TrainingState, out: Path) -> None:
    write_tensors(out / STATE, state.tensors(), asdict(state.progress))
