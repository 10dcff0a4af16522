"""Reading, tokenizing and batching, and how much of a training step waits for its batch: one Markdown table.

python benchmarks/loading.py [--rounds 3] [--source FILE --target FILE]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from training import MODELS, TRAINING, some_texts, text_arguments

from regard.config import settle
from regard.data import Example, Tokenizer, encode_pairs, make_batch, plan
from regard.data.files import read_lines
from regard.models.build import build_model
from regard.runtime import prepare
from regard.training.loop import update
from regard.training.state import new_state

STEPS = 10


def main() -> None:
    options = _options()
    prepare(None)
    sides = some_texts(options)
    texts = [*sides[0], *sides[1]]
    characters = sum(map(len, texts))
    print(f"## Loading: {len(texts):,} sentences, {characters / 1e6:.1f} million characters\n")
    print(
        f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}; ",
        end="",
    )
    print(f"medians of {options.rounds} rounds\n\n| what | seconds | sentences/s |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        _row("reading lines", lambda: list(read_lines(file)), len(texts), options.rounds)
    for kind in ("character", "word", "bpe", "unigram"):
        _row(f"training a {kind} tokenizer", lambda kind=kind: Tokenizer.train(texts, kind, 4000), len(texts), 1)
        tokenizer = Tokenizer.train(texts, kind, 4000)
        _row(f"{kind}: encoding", lambda tokenizer=tokenizer: tokenizer.encode_batch(texts), len(texts), options.rounds)
    tokenizer = Tokenizer.train(texts, "bpe", 4000)
    examples = [Example(*pair) for pair in zip(*sides, strict=True)]
    pairs, _ = encode_pairs(examples, tokenizer, tokenizer)
    _row("planning an epoch", lambda: plan(pairs, 4096, 1, 1), len(pairs), options.rounds)
    batches = plan(pairs, 4096, 1, 0)[:STEPS]
    _row(
        f"making {len(batches)} batches",
        lambda: [make_batch(pairs, rows) for rows in batches],
        len(pairs),
        options.rounds,
    )
    print("\n| model | share of a step that waits for its batch |\n|---|---:|")
    for name, fields in MODELS.items():
        if fields["width"] == 512:
            continue
        model = build_model(settle({"model": fields}).model, tokenizer.size, tokenizer.size, True, 1)
        state, waited, whole = new_state(model, TRAINING), 0.0, 0.0
        for rows in batches:
            began = time.perf_counter()
            batch = make_batch(pairs, rows)
            waited += time.perf_counter() - began
            update(state, batch, 1e-4, TRAINING)
            whole += time.perf_counter() - began
        print(f"| {name} | {100 * waited / whole:.2f} % |")


def _row(what: str, work: Callable[[], object], sentences: int, rounds: int) -> None:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    middle = statistics.median(taken)
    print(f"| {what} | {middle:.3f} | {sentences / middle:,.0f} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
