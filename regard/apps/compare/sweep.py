"""A sweep: architectures × seeds on one recipe. Each training has a process of its own, so its peak memory is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.checkpoint import is_run, read_facts
from regard.child import python_command
from regard.config import Tree, merge, read_recipe, settle
from regard.errors import UserError
from regard.experiment import run_experiment
from regard.files import write_text

FACTS = "sweep.json"


@dataclass(frozen=True)
class SweepRun:
    """One training: an architecture with a seed."""

    preset: str
    seed: int
    path: Path

    @property
    def finished(self) -> bool:
        """Trained to the end, with its peak memory recorded."""
        return is_run(self.path) and read_facts(self.path).get("status") == "finished" and self.facts_file.is_file()

    @property
    def facts_file(self) -> Path:
        return self.path / FACTS

    @property
    def peak_bytes(self) -> int:
        return json.loads(self.facts_file.read_text(encoding="utf-8"))["peak_bytes"]


@dataclass(frozen=True)
class Sweep:
    """The same recipe and settings for every architecture; `settings` as {"training": {"steps": 500}}."""

    recipe: str
    presets: tuple[str, ...]
    seeds: int
    settings: Tree
    out: Path

    def runs(self) -> list[SweepRun]:
        """Seed by seed, so that an interrupted sweep has something of every architecture."""
        seeds = range(1, self.seeds + 1)
        return [SweepRun(preset, seed, self.out / f"{preset}-{seed}") for seed in seeds for preset in self.presets]

    def check(self) -> None:
        """Refuse before the first training whatever a later one would be refused for."""
        if not self.presets or self.seeds < 1:
            raise UserError(
                f"--presets {','.join(self.presets)!r} and --seeds {self.seeds}: "
                "name one architecture and one seed at least"
            )
        if len(set(self.presets)) < len(self.presets):
            raise UserError(f"--presets {','.join(self.presets)} names one twice; name each once")
        for preset in self.presets:
            settle(read_recipe(self.recipe), self.settings, {"model": {"preset": preset}}, where="command line")


CHILD = "from regard.apps.compare.sweep import train_child; sys.exit(train_child(sys.argv[1]))"
INTERRUPTED = 130  # exit status


def run_sweep(sweep: Sweep) -> Iterator[SweepRun]:
    """Each run once it is trained. Finished runs stay as they are, interrupted ones are resumed."""
    sweep.check()
    for run in sweep.runs():
        if not run.finished:
            _train(sweep, run)
        yield run


def _train(sweep: Sweep, run: SweepRun) -> None:
    resume = is_run(run.path)
    one_process: Tree = {"training": {"processes": 1}}  # the peak memory is that of one process
    of_run: Tree = {"training": {"seed": run.seed}, "model": {"preset": run.preset}}
    settings = {} if resume else merge(read_recipe(sweep.recipe), one_process, sweep.settings, of_run)
    job = json.dumps({"settings": settings, "out": str(run.path), "resume": resume})
    with subprocess.Popen([*python_command(CHILD), job], stdout=subprocess.PIPE) as process:
        answer = _read(process)
        status, usage = _wait(process)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status != 0:
        raise UserError(f"{run.path}: {answer or f'its training ended with exit code {status}'}")
    scale = 1 if sys.platform == "darwin" else 1024  # Linux counts in KiB
    write_text(run.facts_file, json.dumps({"peak_bytes": usage * scale}) + "\n")


def train_child(job: str) -> int:
    """One run in a process of its own. Progress goes to standard error, the reason of a failure to standard output."""
    given = json.loads(job)
    try:
        result = run_experiment(settle(given["settings"], where="command line"), given["out"], given["resume"])
    except UserError as error:
        print(error)
        return 2
    return INTERRUPTED if result.status == "interrupted" else 0


def _read(process: subprocess.Popen[bytes]) -> str:
    """All that a child prints; on Ctrl-C, until it has saved and ended."""
    assert process.stdout is not None
    while True:
        try:
            return process.stdout.read().decode("utf-8", "replace").strip()
        except KeyboardInterrupt:
            continue


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The exit status of a child and its peak memory; Ctrl-C reaches the child too, which saves before it ends."""
    while True:
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss
        except KeyboardInterrupt:
            continue
