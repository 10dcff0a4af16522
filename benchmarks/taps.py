"""The cost of taps that are not watched, measured in two ways: one Markdown table.

python benchmarks/taps.py [--rounds 100]

counted   the tap calls of a step, times the CPU time of a tap call, over the CPU time of the step
measured  CPU time with taps over CPU time without: the other model is the same with the identity in place of every Tap;
          interleaved, the fastest round of each counts
noise     the same ratio of two models that both have taps: smaller differences mean nothing

One thread. CPU time of the process, which other programs disturb less than the clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from _machine import machine
from torch import Tensor, nn

from regard.config import DataSettings, SearchSettings, TrainingPlan, plan_model, settle
from regard.data import Batch, Tokenizer, encode_pairs, load_corpus, make_batch, plan
from regard.inference import decode
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.nn import taps
from regard.nn.taps import Tap
from regard.threads import configure_torch
from regard.training.loop import update
from regard.training.microbatches import accumulate
from regard.training.state import TrainingState, new_state

WIDTH, BATCH_TOKENS, DECODED = 128, 1024, 32
MODELS = ("rnn-fixed", "lstm-additive", "rnn-language", "convolution", "transformer", "transformer-language")
TRAINING = TrainingPlan(rate=1e-3, warmup_steps=1, batch_tokens=BATCH_TOKENS, label_smoothing=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    configure_torch(1)
    corpus = load_corpus(DataSettings(corpus="dates", examples=5000))
    texts = [text for example in corpus.train for text in (example.source, example.target)]
    tokenizer = Tokenizer.train(texts, "word", 2000)
    pairs, _ = encode_pairs(corpus.train, tokenizer, tokenizer)
    batch = make_batch(pairs, plan(pairs, BATCH_TOKENS, seed=1, epoch=0)[0])
    sources = tokenizer.encode_batch([example.source for example in corpus.test[:DECODED]])
    call_seconds = _call_seconds()
    print(f"## Taps that are not watched: dates, width {WIDTH}, a batch of {BATCH_TOKENS} tokens\n")
    print(f"{machine()}; 1 thread; {rounds} rounds; a tap call takes {1e6 * call_seconds:.2f} µs\n")
    print("| preset | taps | training step: counted | measured | noise | greedy decoding: counted | measured | noise |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in MODELS:
        states = tapped, bare, _ = [_model(name, tokenizer.size) for _ in range(3)]
        count, cells = _take_out(bare.model), []
        for work in (_train, _decode):
            inputs = batch if work is _train else sources
            calls = _calls(lambda work=work, inputs=inputs, state=tapped: work(state, inputs))
            fastest = [float("inf")] * len(states)
            for turn in range(rounds):
                for index in range(turn, turn + len(states)):  # each is first in turn
                    index %= len(states)
                    fastest[index] = min(fastest[index], work(states[index], inputs))
            with_taps, without, again = fastest
            cells += [calls * call_seconds / with_taps, with_taps / without - 1, again / with_taps - 1]
        print(f"| `{name}` | {count} | " + " | ".join(f"{100 * cell:+.2f} %" for cell in cells) + " |", flush=True)


def _call_seconds() -> float:
    """Of one call of a tap that is not watched: the fastest of many thousand."""
    tap, tensor, best = Tap(), torch.zeros(1), float("inf")
    for _ in range(50):
        start = time.process_time()
        for _ in range(2000):
            tap(tensor)
        best = min(best, (time.process_time() - start) / 2000)
    return best


def _calls(work: Callable[[], float]) -> int:
    """How many times a tap is called."""
    real, count = taps._watch, 0

    class Counting:
        def get(self) -> None:
            nonlocal count
            count += 1

    taps._watch = Counting()  # type: ignore[assignment]
    try:
        work()
    finally:
        taps._watch = real
    return count


def _model(name: str, size: int) -> TrainingState:
    config = plan_model(settle({"model": {"preset": name, "width": WIDTH, "dropout": 0.1}}).model)
    return new_state(fuse(build_model(config, size, size, True, seed=1)), TRAINING)


def _take_out(model: nn.Module) -> int:
    """Replaces every tap by the identity, which is not a module; how many there were."""
    count = 0
    for module in model.modules():
        for name, child in list(module.named_children()):
            if isinstance(child, Tap):
                delattr(module, name)
                object.__setattr__(module, name, Identity())
                count += 1
    return count


class Identity:
    """The identity, with the methods of a tap."""

    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor

    def if_watched(self) -> None:
        return None


def _train(state: TrainingState, batch: Batch) -> float:
    start = time.process_time()
    update(state, accumulate(state.model, [batch], TRAINING.label_smoothing), 1e-4, TRAINING)
    return time.process_time() - start


def _decode(state: TrainingState, sources: list[list[int]]) -> float:
    start = time.process_time()
    decode(state.model, sources, SearchSettings(beams=1, max_tokens=12))
    return time.process_time() - start


if __name__ == "__main__":
    main()
