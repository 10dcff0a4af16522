"""A run while it trains: reports are shown and written, the state is saved, and a slow team is chosen anew.

Where training diverges it goes back to its last validation with half the learning rate, if the plan says so.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.checkpoint import MODEL, PREVIOUS, STATE, VALIDATED
from regard.experiment.setup import Setup
from regard.files import keep_previous
from regard.threads import Interrupt
from regard.training import loop
from regard.training.distributed import torchrun_world_size
from regard.training.estimate import choose_team
from regard.training.report import Metrics, ProgressLine, StepReport
from regard.training.state import TrainingState, restore
from regard.training.team import StepWatch, Team, team_sizes
from regard.weights import read_tensors, write_tensors

METRICS = "metrics.jsonl"
SAVE_SECONDS = 60  # at least so often the training state is written
HALVINGS = 8  # of the rate at most: what still diverges at a 256th of it has another cause


@dataclass
class Follower:
    """What a run does with the reports of its training."""

    setup: Setup
    state: TrainingState
    metrics: Metrics
    line: ProgressLine
    out: Path
    saved: float = 0.0  # when the state was written
    warned: bool = False

    def follow(self, validate: loop.Validate, estimated: bool) -> bool:
        """Train to the end or to Ctrl-C, saving on the way; True if it was Ctrl-C."""
        training, total = self.setup.plan.training, loop.total_steps(self.setup.train, self.setup.plan.training)
        with self.line, Interrupt() as interrupt:
            team, estimate = choose_team(self.state, self.setup.train, training, total, estimated)
            if estimate is not None:
                self.line.say(estimate.text(training.minutes))
            self._keep_validated(only_first=True)
            while True:
                try:
                    with team:
                        stopped = self._until_slow(validate, team, interrupt)
                except loop.Divergence as divergence:
                    self._go_back(divergence)
                    stopped = None
                if stopped is not None:
                    return stopped
                team, _ = choose_team(self.state, self.setup.train, training, total)
                self.line.say(f"training continues with {team.size}")

    def _until_slow(self, validate: loop.Validate, team: Team, interrupt: Interrupt) -> bool | None:
        """Whether training was interrupted; None where the team has become slow and is to be chosen anew."""
        training = self.setup.plan.training
        watch, slower = StepWatch(), None
        self.saved = time.monotonic()
        for report in loop.train(self.state, self.setup.train, training, validate, team):
            self._write(report, interrupt)
            if interrupt.asked:
                return True
            slower = slower or watch.add(report.step_seconds)
            if slower is not None and not self.warned:
                self.line.say(f"note: a step takes {slower:.1f} times as long as before; another program may run")
                self.warned = True
            if slower is not None and report.dev is not None and len(team_sizes(training)) > 1:
                return None
        return self.state.progress.ended is None  # another rank was told to stop

    def _write(self, report: StepReport, interrupt: Interrupt) -> None:
        self.metrics.add(report)
        self.line.show(report)
        if report.dev is not None or interrupt.asked or time.monotonic() - self.saved > SAVE_SECONDS:
            self.metrics.flush()
            save_state(self.state, self.out)
            if report.improved and self.state.best is not None:
                write_tensors(self.out / MODEL, self.state.best)
            if report.dev is not None:
                self._keep_validated()
            self.saved = time.monotonic()

    def _keep_validated(self, only_first: bool = False) -> None:
        """The state to go back to: of the last validation, so that it does not depend on when states were saved."""
        file = self.out / VALIDATED
        if self.setup.plan.training.on_divergence == "halve" and not (only_first and file.is_file()):
            write_tensors(file, self.state.tensors(), asdict(self.state.progress))

    def _go_back(self, divergence: loop.Divergence) -> None:
        """To the last validation with half the rate; or end the run."""
        factor = self.state.progress.rate_factor / 2
        if self.setup.plan.training.on_divergence == "stop" or torchrun_world_size() > 1 or factor < 0.5**HALVINGS:
            self.metrics.flush()
            save_state(self.state, self.out)
            raise divergence.refusal()
        file = self.out / VALIDATED
        restore(self.state, *read_tensors(file), where=str(file))
        self.state.progress.rate_factor = factor
        self.metrics.flush()
        self.metrics.cut_after(self.state.progress.step)
        save_state(self.state, self.out)
        self.line.say(
            f"note: {divergence.where}: {divergence.what}; back to step {self.state.progress.step}, "
            f"and the learning rate is {factor:g} times the planned one from here on"
        )


def save_state(state: TrainingState, out: Path) -> None:
    """The state before this one keeps a name of its own, in case this one is damaged later."""
    keep_previous(out / STATE, out / PREVIOUS)
    write_tensors(out / STATE, state.tensors(), asdict(state.progress))
