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
from regard.config import Tree, read_recipe, settle
from regard.errors import UserError
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


def run_sweep(sweep: Sweep) -> Iterator[SweepRun]:
    """Each run once it is trained. Finished runs stay as they are, interrupted ones are resumed."""
    sweep.check()
    for run in sweep.runs():
        if not run.finished:
            _train(sweep, run)
        yield run


def _train(sweep: Sweep, run: SweepRun) -> None:
    words = [*python_command("from regard.cli import main; sys.exit(main())"), "train"]
    if is_run(run.path):
        words += ["--resume"]
    else:
        one_process: Tree = {"training": {"processes": 1}}  # the peak memory is that of one process
        settings = {**one_process, **sweep.settings}
        settings["training"] = {**one_process["training"], **sweep.settings.get("training", {}), "seed": run.seed}
        words += [sweep.recipe, "--model.preset", run.preset, *_flags(settings)]
    with subprocess.Popen([*words, "--out", str(run.path)]) as process:
        status, usage = _wait(process)
    if status == 130:
        raise KeyboardInterrupt
    if status != 0:
        raise UserError(f"{run.path}: training ended with status {status}; its error is above")
    scale = 1 if sys.platform == "darwin" else 1024  # Linux counts in KiB
    write_text(run.facts_file, json.dumps({"peak_bytes": usage * scale}) + "\n")


def _flags(settings: Tree) -> list[str]:
    """The settings as words of a command line."""
    flags = []
    for section, fields in settings.items():
        for key, value in fields.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            flags.append(f"--{section}.{key.replace('_', '-')}={text}")
    return flags


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The exit status of a child and its peak memory; Ctrl-C reaches the child too, which saves before it ends."""
    while True:
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss
        except KeyboardInterrupt:
            continue
