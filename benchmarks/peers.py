"""Training speed beside the peers, each in an environment of its own, in turn in one run: one Markdown table a model.

python benchmarks/peers.py [--rounds 4] [--steps 3] [--model LSTM] [--folder DIR] [--source F --target F]

Environments are made and filled by pip the first time. Who cannot be installed, does not start or dies is named on
stderr and left out; the others go on.
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
from _conversation import Conversation
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
from training import BATCH_TOKENS, MODELS, sgemm, some_pairs, text_arguments

from regard.data import Pairs, make_batch, plan

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Contestant:
    name: str
    script: str
    environment: Environment | None = None  # None: it runs in our own
    models: tuple[str, ...] = ("transformer", "lstm-additive")
    processes: int | None = None


CONTESTANTS = (
    Contestant("regard, two processes", "_ours.py", processes=2),  # the others are compared with the first
    Contestant("regard, one process", "_ours.py", processes=1),
    Contestant("torch's own modules", "_plain.py"),
    Contestant("transformers (Marian)", "_marian.py", TRANSFORMERS, ("transformer",)),
    Contestant("JoeyNMT", "_joey.py", JOEYNMT),
    Contestant("eole", "_eole.py", EOLE),
)


def main() -> None:
    options = _options()
    torch.set_num_threads(2)
    pairs, size = some_pairs(options)
    models = {name: {**fields, "size": size} for name, fields in MODELS.items() if options.model in name}
    pythons = interpreters({fields["preset"] for fields in models.values()}, Path(options.folder).expanduser())
    print(f"## Training beside peers: batches of {BATCH_TOKENS} padded tokens, vocabulary {size:,}\n")
    versions = [one.versions for one in pythons.values() if one.versions]
    print("; ".join([machine(), *versions, f"2 threads; sgemm {sgemm():.0f} GFLOPS"]), end="; ")
    print(
        f"medians of {options.rounds} interleaved rounds of {options.steps} steps (range); memory: the sum of what ",
        end="",
    )
    print("each process held at its peak, mapped files and shared memory counted once")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "batches.npz"
        store_batches(pairs, data, options.steps + 1)
        for name, fields in models.items():
            entered = {one: python.path for one, python in pythons.items() if fields["preset"] in one.models}
            print(
                f"\n### {name}\n\n| system | target tokens/s | beside it regard is | peak memory, all processes, MiB |"
            )
            print("|---|---:|---:|---:|", flush=True)
            print(*_lines(_compete(fields, entered, data, options.rounds)), sep="\n", flush=True)


def interpreters(presets: set[object], folder: Path) -> dict[Contestant, Interpreter]:
    """Whoever takes part with one of these models, and where it runs."""
    found = {}
    for one in CONTESTANTS:
        if presets.isdisjoint(one.models):
            continue
        try:
            own = Interpreter(Path(sys.executable), "")
            found[one] = own if one.environment is None else interpreter(one.environment, folder)
        except LeftOutError as error:
            leave_out(one.name, error)
    return found


def start(
    fields: dict[str, Any],
    entered: dict[Contestant, Path],
    data: Path,
    stack: ExitStack,
    batch_tokens: int = BATCH_TOKENS,
) -> dict[Contestant, Conversation]:
    """A process for each contestant, ready to train; they end with the stack."""
    running: dict[Contestant, Conversation] = {}
    for one, python in entered.items():
        own = {} if one.processes is None else {"processes": one.processes, "batch_tokens": batch_tokens}
        command = [str(python), str(HERE / one.script), str(data), json.dumps({**fields, **own})]
        try:
            running[one] = stack.enter_context(Conversation(command))
        except LeftOutError as error:
            leave_out(one.name, error)
    return running


def _compete(
    fields: dict[str, Any], entered: dict[Contestant, Path], data: Path, rounds: int
) -> dict[Contestant, list[tuple[float, float]]]:
    """Tokens a second and peak memory of each round, of everybody who came to the end."""
    with ExitStack() as stack:
        running = start(fields, entered, data, stack)
        measured: dict[Contestant, list[tuple[float, float]]] = {one: [] for one in running}
        for _ in range(rounds):
            for one in list(measured):
                try:
                    speed, memory = map(float, running[one].ask("go").split())
                    measured[one].append((speed, memory))
                except (LeftOutError, ValueError) as error:
                    leave_out(one.name, error)
                    del measured[one]
        return measured


def _lines(measured: dict[Contestant, list[tuple[float, float]]]) -> Iterator[str]:
    ours = measured.get(CONTESTANTS[0])
    for one, own in measured.items():
        speeds = [speed for speed, _ in own]
        ratios = [] if ours is None else [first / speed for (first, _), speed in zip(ours, speeds, strict=True)]
        ratio = f"{spread(ratios, '.2f')} ×" if ratios else "–"
        yield f"| {one.name} | {spread(speeds)} | {ratio} | {own[-1][1]:,.0f} |"


def store_batches(pairs: Pairs, path: Path, count: int, batch_tokens: int = BATCH_TOKENS) -> None:
    """The first batches as every contestant gets them, and all pairs, of which ours makes the same ones."""
    arrays: dict[str, np.ndarray] = {}
    for index, rows in enumerate(plan(pairs, batch_tokens, seed=1, epoch=0)[:count]):
        batch = make_batch(pairs, rows)
        for kind in ("source", "source_mask", "target_in", "target_out"):
            arrays[f"{index}/{kind}"] = getattr(batch, kind).numpy()
    for side in ("source", "target"):
        ragged = getattr(pairs, side)
        arrays |= {f"all_{side}/ids": ragged.ids, f"all_{side}/starts": ragged.starts}
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
