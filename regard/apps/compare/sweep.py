"""Who competes, and their trainings: each in a process of its own, so that its peak memory can be told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.checkpoint import is_run, read_facts
from regard.config import preset_fields
from regard.errors import UserError
from regard.files import write_text

FACTS = "contest.json"


@dataclass(frozen=True)
class Entry:
    """One training: an architecture with a seed."""

    preset: str
    seed: int
    path: Path

    @property
    def finished(self) -> bool:
        """Trained to the end, and its memory known."""
        return is_run(self.path) and read_facts(self.path).get("status") == "finished" and self.facts_file.is_file()

    @property
    def facts_file(self) -> Path:
        return self.path / FACTS

    @property
    def peak_bytes(self) -> int:
        return json.loads(self.facts_file.read_text(encoding="utf-8"))["peak_bytes"]


@dataclass(frozen=True)
class Contest:
    """The same recipe and settings for everyone."""

    recipe: str
    presets: tuple[str, ...]
    seeds: int
    settings: tuple[str, ...]  # as on the command line: ("--training.steps", "500", …)
    out: Path

    def entries(self) -> list[Entry]:
        """Seed by seed, so that an interrupted contest has something of everyone."""
        for preset in self.presets:
            preset_fields(preset)  # a typo is found before anything is trained
        if len(set(self.presets)) < len(self.presets):
            raise UserError(f"--presets {','.join(self.presets)} names one twice; name each once")
        seeds = range(1, self.seeds + 1)
        return [Entry(preset, seed, self.out / f"{preset}-{seed}") for seed in seeds for preset in self.presets]


def hold(contest: Contest) -> Iterator[Entry]:
    """Train whoever is not trained yet; those that are there stay, and those that were stopped go on."""
    for entry in contest.entries():
        if not entry.finished:
            _train(contest, entry)
        yield entry


def _train(contest: Contest, entry: Entry) -> None:
    resume = is_run(entry.path)
    words = [sys.executable, "-m", "regard", "train"]
    if resume:
        words += ["--resume"]
    else:
        seed = ("--training.seed", str(entry.seed))
        counted = any(one.startswith("--training.processes") for one in contest.settings)
        alike = () if counted else ("--training.processes", "1")  # for their memory
        words += [contest.recipe, "--model.preset", entry.preset, *seed, *alike, *contest.settings]
    with subprocess.Popen([*words, "--out", str(entry.path)]) as process:
        status, usage = _wait(process)
    if status == 130:
        raise KeyboardInterrupt
    if status != 0:
        raise UserError(f"{entry.path}: training ended with status {status}; what went wrong stands above")
    scale = 1 if sys.platform == "darwin" else 1024  # Linux counts in KiB
    write_text(entry.facts_file, json.dumps({"peak_bytes": usage * scale}) + "\n")


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The exit status of a child and its peak memory; Ctrl-C reaches the child too, which saves before it ends."""
    while True:
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss
        except KeyboardInterrupt:
            continue
