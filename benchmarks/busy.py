"""Training and decoding, ours and the peers', beside 0, 1 and 2 processes that keep a core busy: Markdown tables.

python benchmarks/busy.py [--rounds 4] [--steps 3] [--busy 0 1 2] [--only training|decoding] [--model LSTM]
                          [--batch-tokens 4096 400] [--sentences 300] [--train-steps N] [--folder DIR]

In each round every system runs once beside each number of busy processes. Training: the models and systems of
peers.py. Decoding: the models and engines of decoding.py, trained on dates first. "Kept" is the speed beside busy
processes divided by the idle speed of the same round; "of the best peer" is the median speed divided by that of the
fastest system that is not ours. Environments of the peers are made and filled by pip the first time.
"""

from __future__ import annotations

import regard  # noqa: F401 - before torch: it sets how long waiting threads spin

# isort: split
import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import decoding
import peers
from _environments import FOLDER, LeftOutError, leave_out
from _machine import machine
from _rounds import spread
from training import BATCH_TOKENS, MODELS, some_pairs, text_arguments

from regard.threads import configure_torch

OURS = "regard"  # begins the names of our systems
LOOP = """
import os
parent = os.getppid()
print("busy", flush=True)
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
Speeds = dict[str, dict[int, list[float]]]
"""Of each system beside each number of busy processes: a number a round."""


def main() -> None:
    options = _options()
    configure_torch(2)
    print("## Beside busy processes\n")
    print(f"{machine('ctranslate2')}; 2 threads; medians of {options.rounds} interleaved rounds (range)", flush=True)
    if options.only != "decoding":
        _train(options)
    if options.only != "training":
        _decode(options)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes, each of which uses all the time of a core that it gets. They end with this context, and by
    themselves when this process is killed."""
    processes: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            processes.append(subprocess.Popen([sys.executable, "-S", "-c", LOOP], stdout=subprocess.PIPE, text=True))
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n", "a busy process did not start"
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()


def measure(systems: Mapping[str, Callable[[], float]], counts: Sequence[int], rounds: int) -> Speeds:
    """What each system's function returns, its speed. A system that fails is named on stderr and left out."""
    speeds: Speeds = {name: {count: [] for count in counts} for name in systems}
    for _ in range(rounds):
        for count in counts:
            with busy(count):
                for name in list(speeds):
                    try:
                        speeds[name][count].append(systems[name]())
                    except (LeftOutError, ValueError) as error:
                        leave_out(name, error)
                        del speeds[name]
    return speeds


def table(speeds: Speeds, counts: Sequence[int], unit: str) -> Iterator[str]:
    """Markdown. The first of the counts is what the others are compared with."""
    names = [name for count in counts for name in (f"{count} busy: {unit}", *(["kept"] if count != counts[0] else ()))]
    columns = [*names, *(f"{count} busy: of the best peer" for count in counts)]
    yield f"| system | {' | '.join(columns)} |"
    yield "|---|" + "---:|" * len(columns)
    medians = {
        name: {count: statistics.median(values) for count, values in own.items()} for name, own in speeds.items()
    }
    best = {
        count: max((own[count] for name, own in medians.items() if not name.startswith(OURS)), default=None)
        for count in counts
    }
    for name, own in speeds.items():
        cells = []
        for count in counts:
            cells.append(spread(own[count]))
            if count != counts[0]:
                cells.append(
                    spread([speed / idle for speed, idle in zip(own[count], own[counts[0]], strict=True)], ".0%")
                )
        ratios = [(medians[name][count], best[count]) for count in counts]
        cells += ["–" if peer is None else f"{speed / peer:.2f} ×" for speed, peer in ratios]
        yield f"| {name} | {' | '.join(cells)} |"


def _train(options: argparse.Namespace) -> None:
    pairs, size = some_pairs(options)
    models = {name: {**fields, "size": size} for name, fields in MODELS.items() if options.model in name}
    pythons = peers.interpreters({fields["preset"] for fields in models.values()}, Path(options.folder).expanduser())
    print("\n" + "; ".join(python.versions for python in pythons.values() if python.versions))
    with tempfile.TemporaryDirectory() as folder:
        for batch_tokens in options.batch_tokens:
            data = Path(folder) / f"{batch_tokens}.npz"
            steps = options.steps * max(BATCH_TOKENS // batch_tokens, 1)  # a round has as many tokens
            peers.store_batches(pairs, data, steps + 1, batch_tokens)
            for name, fields in models.items():
                entered = {
                    system: python.path for system, python in pythons.items() if fields["preset"] in system.models
                }
                with ExitStack() as stack:
                    running = peers.start(fields, entered, data, stack, batch_tokens)
                    systems = {
                        system.name: lambda worker=worker: float(worker.ask("go").split()[0])
                        for system, worker in running.items()
                    }
                    speeds = measure(systems, options.busy, options.rounds)
                print(f"\n### Training, {name}, batches of {batch_tokens:,} padded tokens, {steps} steps\n")
                print(*table(speeds, options.busy, "target tokens/s"), sep="\n", flush=True)


def _decode(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for run in decoding.trained_runs(Path(folder), options.train_steps):
            model, texts = decoding.load_model(run, "torch"), decoding.test_sources(run)[: options.sentences]
            with ExitStack() as stack:
                engines = decoding.own_engines(run, OURS, texts) | decoding.by_hand_engines(model, texts)
                decoding.enter_peers(engines, model, texts, Path(options.folder).expanduser(), stack)
                for mode, beams, single in decoding.MODES:
                    chosen = texts[::10] if single else texts
                    systems = {
                        name: lambda translate=translate, chosen=chosen, beams=beams, single=single: (
                            decoding.sentence_rate(translate, chosen, beams, single)
                        )
                        for name, translate in engines.items()
                    }
                    speeds = measure(systems, options.busy, options.rounds)
                    preset = model.run.plan.model.preset
                    print(f"\n### Decoding, {preset}, {mode}, {len(chosen):,} sentences\n")
                    print(*table(speeds, options.busy, "sentences/s"), sep="\n", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3, help="of training with 4,096 tokens; more with smaller batches")
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2], help="numbers of busy processes")
    parser.add_argument("--only", choices=("training", "decoding"), default=None)
    parser.add_argument("--model", default="", help="train only models with this in their name")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[BATCH_TOKENS, 400])
    parser.add_argument("--sentences", type=int, default=300, help="to decode; a tenth of them one at a time")
    parser.add_argument("--train-steps", type=int, default=None, help="of the models that decode, for a trial")
    parser.add_argument("--folder", default=FOLDER, help="where the peers' environments are")
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
