"""Training speed beside the peers, each in an environment of its own, in turn in one run: one Markdown table a model.

python benchmarks/peers.py [--rounds 4] [--steps 3] [--model LSTM] [--folder DIR] [--source F --target F]

Environments are made and filled by pip the first time; what cannot be installed is named and left out.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from training import BATCH_TOKENS, MODELS, sgemm, some_pairs, text_arguments

from regard.data import Pairs, make_batch, plan

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE.parent / "constraints.txt"


@dataclass(frozen=True)
class Contestant:
    name: str
    script: str
    packages: tuple[str, ...] = ()  # empty: it runs in our own environment
    models: tuple[str, ...] = ("transformer", "lstm-additive")
    processes: int | None = None


CONTESTANTS = (
    Contestant("regard, two processes", "_ours.py", processes=2),
    Contestant("regard, one process", "_ours.py", processes=1),
    Contestant("torch's own modules", "_plain.py"),
    Contestant("transformers (Marian)", "_marian.py", ("torch", "transformers"), ("transformer",)),
    Contestant("JoeyNMT", "_joey.py", ("torch", "importlib_metadata", "joeynmt")),
    Contestant("eole", "_eole.py", ("torch", "eole")),
)


def main() -> None:
    options = _options()
    torch.set_num_threads(2)
    pairs, size = some_pairs(options)
    pythons = {one.name: _python(one, Path(options.folder).expanduser()) for one in CONTESTANTS}
    print(f"## Training beside peers: batches of {BATCH_TOKENS} padded tokens, vocabulary {size:,}, 2 threads\n")
    machine = platform.processor() or platform.machine()
    print(
        f"{machine}, torch {torch.__version__}, sgemm {sgemm():.0f} GFLOPS; medians of {options.rounds} interleaved ",
        end="",
    )
    print(f"rounds of {options.steps} steps (range)")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "batches.npz"
        _store(pairs, data, options.steps + 1)
        for name, fields in MODELS.items():
            if options.model not in name:
                continue
            entered = [
                (one, pythons[one.name]) for one in CONTESTANTS if fields["preset"] in one.models and pythons[one.name]
            ]
            _compete(name, {**fields, "size": size}, entered, data, options.rounds)


def _compete(name: str, fields: dict[str, Any], entered: list, data: Path, rounds: int) -> None:
    running = []
    for one, python in entered:
        own = fields if one.processes is None else {**fields, "processes": one.processes, "batch_tokens": BATCH_TOKENS}
        command = [str(python), str(HERE / one.script), str(data), json.dumps(own)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while (line := process.stdout.readline()).strip() not in ("ready", ""):
            pass
        if not line:
            sys.exit(f"{one.name} did not start: {' '.join(command[:2])}")
        running.append(process)
    speeds: list[list[float]] = [[] for _ in entered]
    memory = [0.0] * len(entered)
    for _ in range(rounds):
        for place, process in enumerate(running):
            process.stdin.write("go\n")
            process.stdin.flush()
            speed, memory[place] = map(float, process.stdout.readline().split())
            speeds[place].append(speed)
    for process in running:
        process.stdin.close()
        process.wait()
    print(
        f"\n### {name}\n\n| system | target tokens/s | beside it regard is | peak memory, MiB |\n|---|---:|---:|---:|"
    )
    for (one, _), own, peak in zip(entered, speeds, memory, strict=True):
        ratios = sorted(ours / its for ours, its in zip(speeds[0], own, strict=True))
        middle = f"{statistics.median(ratios):.2f} × ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        shown = f"{peak:,.0f}" + (" (the first of two)" if (one.processes or 1) > 1 else "")
        print(f"| {one.name} | {statistics.median(own):,.0f} | {middle} | {shown} |", flush=True)


def _store(pairs: Pairs, path: Path, count: int) -> None:
    """The first batches as every contestant gets them, and all pairs, of which ours makes the same ones."""
    arrays: dict[str, np.ndarray] = {}
    for index, rows in enumerate(plan(pairs, BATCH_TOKENS, seed=1, epoch=0)[:count]):
        batch = make_batch(pairs, rows)
        for kind in ("source", "source_mask", "target_in", "target_out"):
            arrays[f"{index}/{kind}"] = getattr(batch, kind).numpy()
    for side in ("source", "target"):
        ragged = getattr(pairs, side)
        arrays |= {f"all_{side}/ids": ragged.ids, f"all_{side}/starts": ragged.starts}
    np.savez(path, **arrays)


def _python(one: Contestant, folder: Path) -> Path | None:
    """The interpreter of its environment, made where there is none yet; None if it cannot be installed."""
    if not one.packages:
        return Path(sys.executable)
    place = folder / one.packages[-1]
    python = place / "bin" / "python"
    ready = place / ".ready"
    if not ready.exists():
        print(f"installing {one.name} into {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS), *one.packages]
        if subprocess.run(install, check=False).returncode:
            print(f"{one.name} cannot be installed here and is left out", file=sys.stderr)
            return None
        ready.touch()
    return python


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--folder", default="~/.cache/regard/peers")
    parser.add_argument("--model", default="", help="only models with this in their name")
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
