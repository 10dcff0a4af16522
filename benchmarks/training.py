"""Training speed beside torch's own modules used in the usual way; interleaved, medians; a Markdown table.

python benchmarks/training.py [--rounds 5] [--steps 4] [--threads 2] [--source FILE --target FILE]

The same mathematics and sizes: batches of 4,096 padded tokens, label smoothing 0.1, Adam, float32. Without files the
text is random: 9,000 words by Zipf's law in sentences as long as Multi30k's. "Of sgemm": the speed of the matrix
multiplications of our steps, over that of one large multiplication on the same threads in the same round.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import time
from collections.abc import Callable

import torch
from _machine import machine
from _plain import make
from _rounds import spread
from torch.utils.flop_counter import FlopCounterMode, addmm_flop, sdpa_backward_flop, sdpa_flop

import regard
from regard.config import TrainingPlan, plan_model, settle
from regard.data import Batch, Example, Pairs, Tokenizer, encode_pairs, make_batch, plan
from regard.data.files import read_lines
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.loop import update
from regard.training.microbatches import accumulate
from regard.training.state import new_state

BATCH_TOKENS, WORDS, SENTENCES = 4096, 9000, 6000
TRAINING = TrainingPlan(rate=1e-3, warmup_steps=1, batch_tokens=BATCH_TOKENS, label_smoothing=0.1)
MODELS = {
    "Transformer 4+4, 128/256": {"preset": "transformer", "depth": 4, "width": 128, "ffn_width": 256, "dropout": 0.3},
    "Transformer 3+3, 512/2048": {"preset": "transformer", "depth": 3, "width": 512, "heads": 8, "dropout": 0.1},
    "BiLSTM 256, additive attention": {"preset": "lstm-additive", "width": 256, "dropout": 0.2},
}
Step = Callable[[Batch], object]
UNCOUNTED = {  # multiplications that torch's counter does not know
    torch.ops.aten.addmm_: addmm_flop,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: sdpa_flop,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: sdpa_backward_flop,
}


def main() -> None:
    options = _options()
    threads = configure_torch(options.threads)
    pairs, size = some_pairs(options)
    batches = [make_batch(pairs, rows) for rows in plan(pairs, BATCH_TOKENS, seed=1, epoch=0)[: options.steps + 1]]
    tokens = sum(batch.token_count for batch in batches[1:])
    print(f"## Training: batches of {BATCH_TOKENS} padded tokens, vocabulary {size:,}\n")
    print(f"{machine()}; {threads} threads; sgemm {sgemm():.0f} GFLOPS; ", end="")
    print(f"medians of {options.rounds} interleaved rounds of {options.steps} steps (range)\n")
    print("| model | regard, target tokens/s | of sgemm | plain torch, target tokens/s | ratio |")
    print("|---|---:|---:|---:|---:|")
    for name, fields in MODELS.items():
        ours, theirs = _ours(fields, size), _plain(fields, size)
        for step in (ours, theirs):
            step(batches[0])
        work = _gigaflop(ours, batches[1:])
        seconds: list[tuple[float, float]] = []
        shares: list[float] = []
        for _ in range(options.rounds):
            seconds.append((_time(ours, batches[1:]), _time(theirs, batches[1:])))
            shares.append(work / seconds[-1][0] / sgemm())
        own, plain = (spread([tokens / second for second in column]) for column in zip(*seconds, strict=True))
        ratio = spread([theirs / ours for ours, theirs in seconds], ".2f")
        print(f"| {name} | {own} | {spread(shares, '.0%')} | {plain} | {ratio} |", flush=True)


def _time(step: Step, batches: list[Batch]) -> float:
    start = time.perf_counter()
    for batch in batches:
        step(batch)
    return time.perf_counter() - start


def _gigaflop(step: Step, batches: list[Batch]) -> float:
    """Of the matrix multiplications of these steps."""
    mapping = {
        operation: formula.__wrapped__ for operation, formula in UNCOUNTED.items()
    }  # the counter wraps them itself
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        for batch in batches:
            step(batch)
    return counter.get_total_flops() / 1e9


def _ours(fields: dict[str, object], size: int) -> Step:
    state = new_state(
        fuse(build_model(plan_model(settle({"model": fields}).model), size, size, True, seed=1)), TRAINING
    )

    def step(batch: Batch) -> None:
        update(state, accumulate(state.model, [batch], TRAINING.label_smoothing), 1e-4, TRAINING)

    return step


def _plain(fields: dict[str, object], size: int) -> Step:
    step = make({**fields, "size": size})
    return lambda batch: step(vars(batch))


def sgemm() -> float:
    """The fastest of five large matrix multiplications, in GFLOPS."""
    left, right = torch.randn(2048, 2048), torch.randn(2048, 2048)
    left @ right
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return 2 * 2048**3 / best / 1e9


def text_arguments(parser: argparse.ArgumentParser) -> None:
    """The files of `some_texts`, if any."""
    parser.add_argument("--source", default=None)
    parser.add_argument("--target", default=None)


def some_texts(options: argparse.Namespace) -> list[list[str]]:
    """Sources and targets: of the files, or random."""
    if (options.source is None) != (options.target is None):
        sys.exit("give both --source and --target, or neither")
    if options.source is not None:
        try:
            return [list(read_lines(path)) for path in (options.source, options.target)]
        except (regard.UserError, OSError) as error:
            sys.exit(str(error))
    draw = random.Random(1)
    cumulative = list(itertools.accumulate(1 / rank for rank in range(1, WORDS)))
    words = [f"w{rank}" for rank in range(1, WORDS)]
    lengths = [max(4, round(draw.gauss(13, 4))) for _ in range(SENTENCES)]
    return [[" ".join(draw.choices(words, cum_weights=cumulative, k=length)) for length in lengths] for _ in range(2)]


def some_pairs(options: argparse.Namespace) -> tuple[Pairs, int]:
    examples, tokenizer = some_examples(options)
    return encode_pairs(examples, tokenizer, tokenizer)[0], tokenizer.size


def some_examples(options: argparse.Namespace) -> tuple[list[Example], Tokenizer]:
    sides = some_texts(options)
    tokenizer = Tokenizer.train([*sides[0], *sides[1]], "word" if options.source is None else "bpe", WORDS)
    return [Example(source, target) for source, target in zip(*sides, strict=True)], tokenizer


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None)
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
