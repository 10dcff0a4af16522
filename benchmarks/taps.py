"""What taps cost where nobody watches: CPU time with them over CPU time without, interleaved: one Markdown table.

python benchmarks/taps.py [--rounds 40] [--steps 2]

The other model is the same with every Tap taken out and a plain function, the identity, in its place. Both take turns,
step by step, on one thread; CPU time of the process is measured, which other programs disturb less than the clock.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time

import torch
from torch import Tensor, nn

from regard.config import DataConfig, SearchConfig, TrainingConfig, settle
from regard.data import Batch, Tokenizer, encode_pairs, load_corpus, make_batch, plan
from regard.decoding import decode
from regard.models.build import build_model
from regard.nn.taps import Tap
from regard.runtime import prepare
from regard.training.loop import update
from regard.training.state import State, new_state

WIDTH, BATCH_TOKENS, DECODED = 128, 1024, 32
MODELS = ("rnn-fixed", "lstm-additive", "rnn-language", "convolution", "transformer", "transformer-language")
TRAINING = TrainingConfig(rate=1e-3, warmup_steps=1, batch_tokens=BATCH_TOKENS, label_smoothing=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    prepare(1)
    corpus = load_corpus(DataConfig(corpus="dates", examples=5000))
    texts = [text for example in corpus.train for text in (example.source, example.target)]
    tokenizer = Tokenizer.train(texts, "word", 2000)
    pairs, _ = encode_pairs(corpus.train, tokenizer, tokenizer)
    batches = [make_batch(pairs, rows) for rows in plan(pairs, BATCH_TOKENS, seed=1, epoch=0)[: options.steps]]
    sources = tokenizer.encode_batch([example.source for example in corpus.test[:DECODED]])
    print(f"## Taps that nobody watches: dates, width {WIDTH}, batches of {BATCH_TOKENS} tokens\n")
    print(f"{platform.processor() or platform.machine()}, 1 thread, Python {platform.python_version()}, ", end="")
    print(f"torch {torch.__version__}; medians of {options.rounds} ratios of CPU time, with taps / without\n")
    print("| preset | taps | training step | greedy decoding |")
    print("|---|---:|---:|---:|")
    for name in MODELS:
        tapped, bare = _model(name, tokenizer.size), _model(name, tokenizer.size)
        count = _take_out(bare.model)
        ratios = [_round(tapped, bare, batches, sources, turn) for turn in range(options.rounds)]
        cells = (_percent([ratio[place] for ratio in ratios[2:]]) for place in (0, 1))  # the first two warm up
        print(f"| `{name}` | {count} | " + " | ".join(cells) + " |", flush=True)


def _model(name: str, size: int) -> State:
    config = settle({"model": {"preset": name, "width": WIDTH, "dropout": 0.1}}).model
    return new_state(build_model(config, size, size, True, seed=1), TRAINING)


def _take_out(model: nn.Module) -> int:
    """A tap is no longer a module: nothing but a function that gives back what it is given."""
    count = 0
    for module in model.modules():
        for name, child in list(module.named_children()):
            if isinstance(child, Tap):
                delattr(module, name)
                object.__setattr__(module, name, Nothing())
                count += 1
    return count


class Nothing:
    """What is left of a tap: the least that code with its place in it can call."""

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor

    def if_watched(self) -> None:
        return None


def _round(
    tapped: State, bare: State, batches: list[Batch], sources: list[list[int]], turn: int
) -> tuple[float, float]:
    """CPU time with taps over CPU time without, of training and of decoding; who begins changes from turn to turn."""
    order = (tapped, bare) if turn % 2 else (bare, tapped)
    trained, decoded = {}, {}
    for state in order:
        start = time.process_time()
        for batch in batches:
            update(state, batch, 1e-4, TRAINING)
        trained[id(state)] = time.process_time() - start
    for state in order:
        start = time.process_time()
        decode(state.model, sources, SearchConfig(beams=1, max_tokens=12))
        decoded[id(state)] = time.process_time() - start
    return tuple(each[id(tapped)] / each[id(bare)] for each in (trained, decoded))  # type: ignore[return-value]


def _percent(ratios: list[float]) -> str:
    """The median change with the interval that holds it in 95 of 100 cases (ranks of the ordered ratios)."""
    ordered = sorted(ratios)
    away = round(0.98 * len(ordered) ** 0.5)  # half of 1.96 √n, the binomial's spread
    middle = len(ordered) // 2
    low, high = ordered[max(0, middle - away)], ordered[min(len(ordered) - 1, middle + away)]
    return f"{100 * (statistics.median(ordered) - 1):+.1f} % ({100 * (low - 1):+.1f} to {100 * (high - 1):+.1f})"


if __name__ == "__main__":
    main()
