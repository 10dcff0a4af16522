"""Reading, tokenizing and batching, and how long a training step waits for its batch: one Markdown table.

python benchmarks/loading.py [--rounds 3] [--source FILE --target FILE]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from _machine import machine
from _rounds import spread
from training import BATCH_TOKENS, MODELS, TRAINING, some_texts, text_arguments

from regard.config import plan_model, settle
from regard.data import Example, Pairs, Tokenizer, encode_pairs, make_batch, plan
from regard.data.files import read_lines
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.loop import update
from regard.training.microbatches import accumulate
from regard.training.state import new_state

STEPS = 10


def main() -> None:
    options = _options()
    configure_torch(None)
    sides = some_texts(options)
    texts = [*sides[0], *sides[1]]
    characters = sum(map(len, texts))
    print(f"## Loading: {len(texts):,} sentences, {characters / 1e6:.1f} million characters\n")
    print(f"{machine()}; {torch.get_num_threads()} threads; medians of {options.rounds} rounds (range); ", end="")
    print("sentences of a batch are pairs\n\n| what | seconds | sentences/s |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        print(row("reading lines", lambda: len(list(read_lines(file))), options.rounds), flush=True)
    tokenizers = {kind: _tokenizer(kind, texts, options.rounds) for kind in ("character", "word", "bpe", "unigram")}
    tokenizer = tokenizers["bpe"]
    examples = [Example(*pair) for pair in zip(*sides, strict=True)]
    pairs, _ = encode_pairs(examples, tokenizer, tokenizer)
    print(row("planning an epoch", lambda: sum(map(len, plan(pairs, BATCH_TOKENS, 1, 1))), options.rounds))
    batches = plan(pairs, BATCH_TOKENS, 1, 0)[:STEPS]
    print(row(f"making {len(batches)} batches", lambda: rows_made(pairs, batches), options.rounds))
    print(f"\n| model | share of a step that waits for its batch, {len(batches)} steps |\n|---|---:|")
    for name, fields in MODELS.items():
        if fields["width"] != 512:
            print(f"| {name} | {spread(_waiting(fields, tokenizer.size, pairs, batches), '.2%')} |", flush=True)


def row(what: str, work: Callable[[], int], rounds: int) -> str:
    """A line of the table; the work says how many sentences it did."""
    seconds, rates = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        sentences = work()
        seconds.append(time.perf_counter() - start)
        rates.append(sentences / seconds[-1])
    return f"| {what} | {spread(seconds, '.4f')} | {spread(rates)} |"


def rows_made(pairs: Pairs, batches: Sequence[np.ndarray]) -> int:
    """Makes these batches, and says how many pairs are in them."""
    return sum(len(make_batch(pairs, rows).source) for rows in batches)


def _tokenizer(kind: str, texts: list[str], rounds: int) -> Tokenizer:
    tokenizers: list[Tokenizer] = []

    def train() -> int:
        tokenizers.append(Tokenizer.train(texts, kind, 4000))
        return len(texts)

    print(row(f"training a {kind} tokenizer", train, rounds), flush=True)
    print(row(f"{kind}: encoding", lambda: len(tokenizers[-1].encode_batch(texts)), rounds), flush=True)
    return tokenizers[-1]


def _waiting(fields: dict[str, object], size: int, pairs: Pairs, batches: Sequence[np.ndarray]) -> list[float]:
    """The share of each step that is spent on its batch."""
    state = new_state(fuse(build_model(plan_model(settle({"model": fields}).model), size, size, True, 1)), TRAINING)
    update(
        state, accumulate(state.model, [make_batch(pairs, batches[0])], TRAINING.label_smoothing), 1e-4, TRAINING
    )  # warm-up
    shares = []
    for rows in batches:
        began = time.perf_counter()
        batch = make_batch(pairs, rows)
        waited = time.perf_counter() - began
        update(state, accumulate(state.model, [batch], TRAINING.label_smoothing), 1e-4, TRAINING)
        shares.append(waited / (time.perf_counter() - began))
    return shares


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
