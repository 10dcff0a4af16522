"""Training speed beside the peers, each in an environment of its own, interleaved: one Markdown table a model.

python benchmarks/peers.py [--rounds 4] [--steps 3] [--model LSTM] [--folder DIR] [--source F --target F]

pip makes the environments the first time. A peer that cannot be installed, does not start or dies is named on stderr
and left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _environments import (
    EOLE,
    FOLDER,
    JOEYNMT,
    TRANSFORMERS,
    Environment,
    Interpreter,
    LeftOutError,
    interpreter,
    leave_out,
)
from _machine import machine
from _rounds import spread
from _worker_process import WorkerProcess
from training import BATCH_TOKENS, MODELS, sgemm, some_pairs, text_arguments

from regard.data import Pairs, make_batch, plan

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class System:
    name: str
    script: str
    environment: Environment | None = None  # None: it runs in our own
    models: tuple[str, ...] = ("transformer", "lstm-additive")
    processes: int | None = None


SYSTEMS = (
    System("regard, two processes", "_ours.py", processes=2),  # the others are compared with the first
    System("regard, one process", "_ours.py", processes=1),
    System("torch's own modules", "_plain.py"),
    System("transformers (Marian)", "_marian.py", TRANSFORMERS, ("transformer",)),
    System("JoeyNMT", "_joey.py", JOEYNMT),
    System("eole", "_eole.py", EOLE),
)


def main() -> None:
    options = _options()
    torch.set_num_threads(2)
    pairs, size = some_pairs(options)
    models = {name: {**fields, "size": size} for name, fields in MODELS.items() if options.model in name}
    pythons = interpreters({fields["preset"] for fields in models.values()}, Path(options.folder).expanduser())
    print(f"## Training beside peers: batches of {BATCH_TOKENS} padded tokens, vocabulary {size:,}\n")
    versions = [python.versions for python in pythons.values() if python.versions]
    print("; ".join([machine(), *versions, f"2 threads; sgemm {sgemm():.0f} GFLOPS"]), end="; ")
    print(
        f"medians of {options.rounds} interleaved rounds of {options.steps} steps (range); memory: the sum of the ",
        end="",
    )
    print("peaks of all processes, mapped files and shared memory counted once")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "batches.npz"
        store_batches(pairs, data, options.steps + 1)
        for name, fields in models.items():
            entered = {system: python.path for system, python in pythons.items() if fields["preset"] in system.models}
            print(f"\n### {name}\n\n| system | target tokens/s | regard over it | peak memory, all processes, MiB |")
            print("|---|---:|---:|---:|", flush=True)
            print(*_lines(_measure(fields, entered, data, options.rounds)), sep="\n", flush=True)


def interpreters(presets: set[object], folder: Path) -> dict[System, Interpreter]:
    """The systems that have one of these models, and the Python that each runs in."""
    pythons = {}
    for system in SYSTEMS:
        if presets.isdisjoint(system.models):
            continue
        try:
            own = Interpreter(Path(sys.executable), "")
            pythons[system] = own if system.environment is None else interpreter(system.environment, folder)
        except LeftOutError as error:
            leave_out(system.name, error)
    return pythons


def start(
    fields: dict[str, Any],
    entered: dict[System, Path],
    data: Path,
    stack: ExitStack,
    batch_tokens: int = BATCH_TOKENS,
) -> dict[System, WorkerProcess]:
    """A process for each system, ready to train; they end with the stack."""
    running: dict[System, WorkerProcess] = {}
    for system, python in entered.items():
        own = {} if system.processes is None else {"processes": system.processes, "batch_tokens": batch_tokens}
        command = [str(python), str(HERE / system.script), str(data), json.dumps({**fields, **own})]
        try:
            running[system] = stack.enter_context(WorkerProcess(command))
        except LeftOutError as error:
            leave_out(system.name, error)
    return running


def _measure(
    fields: dict[str, Any], entered: dict[System, Path], data: Path, rounds: int
) -> dict[System, list[tuple[float, float]]]:
    """Tokens a second and peak memory of each round, of every system that finished."""
    with ExitStack() as stack:
        running = start(fields, entered, data, stack)
        measured: dict[System, list[tuple[float, float]]] = {system: [] for system in running}
        for _ in range(rounds):
            for system in list(measured):
                try:
                    speed, memory = map(float, running[system].ask("go").split())
                    measured[system].append((speed, memory))
                except (LeftOutError, ValueError) as error:
                    leave_out(system.name, error)
                    del measured[system]
        return measured


def _lines(measured: dict[System, list[tuple[float, float]]]) -> Iterator[str]:
    ours = measured.get(SYSTEMS[0])
    for system, own in measured.items():
        speeds = [speed for speed, _ in own]
        ratios = [] if ours is None else [first / speed for (first, _), speed in zip(ours, speeds, strict=True)]
        ratio = f"{spread(ratios, '.2f')} ×" if ratios else "–"
        yield f"| {system.name} | {spread(speeds)} | {ratio} | {own[-1][1]:,.0f} |"


def store_batches(pairs: Pairs, path: Path, count: int, batch_tokens: int = BATCH_TOKENS) -> None:
    """The first batches as every system gets them, and all pairs, of which ours makes the same ones."""
    arrays: dict[str, np.ndarray] = {}
    for index, rows in enumerate(plan(pairs, batch_tokens, seed=1, epoch=0)[:count]):
        batch = make_batch(pairs, rows)
        for kind in ("source", "source_mask", "target_in", "target_out"):
            arrays[f"{index}/{kind}"] = getattr(batch, kind).numpy()
    for side in ("source", "target"):
        store = getattr(pairs, side)
        arrays |= {f"all_{side}/ids": store.ids, f"all_{side}/starts": store.starts}
    np.savez(path, **arrays)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--model", default="", help="only models with this in their name")
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
