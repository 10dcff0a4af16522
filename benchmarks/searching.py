"""Our torch engine against beam, batch and length, by family: one Markdown table each.

python benchmarks/searching.py [--rounds 3] [--sentences 128] [--width 128] [--size 4000]

Weights are random and EOS is impossible, so every output is as long as its source: the speed of the engine, whatever a
model predicts. Target tokens a second that are returned, 2 threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from _machine import machine
from _rounds import spread

from regard.config import SearchSettings, plan_model, settle
from regard.data.tokenizer import EOS
from regard.inference import decode
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.threads import configure_torch

FAMILIES = ("lstm-additive", "convolution", "transformer")


@dataclass(frozen=True)
class Case:
    beams: int = 5
    batch_tokens: int = 4096
    length: int = 20


SWEEPS: dict[str, list[Case]] = {
    "beams": [Case(beams=beams) for beams in (1, 2, 5, 10)],
    "batch, padded source tokens": [Case(batch_tokens=tokens) for tokens in (100, 400, 1600, 6400)],
    "length": [replace(Case(), length=length) for length in (10, 20, 40, 80)],
}
SHOWN = {"beams": "beams", "batch, padded source tokens": "batch_tokens", "length": "length"}


def main() -> None:
    options = _options()
    configure_torch(2)
    models = {preset: _endless(preset, options.width, options.size) for preset in FAMILIES}
    cases = {case for sweep in SWEEPS.values() for case in sweep}
    speeds = _measure(models, cases, options)
    print(
        f"## Search: width {options.width}, {options.size:,} entries, {options.sentences} sentences, tokens a second\n"
    )
    print(f"{machine()}; 2 threads; medians of {options.rounds} rounds (range)")
    for title, sweep in SWEEPS.items():
        print(f"\n| {title} | " + " | ".join(f"{getattr(case, SHOWN[title]):,}" for case in sweep) + " |")
        print("|---|" + "---:|" * len(sweep))
        for preset in models:
            print(f"| {preset} | " + " | ".join(spread(speeds[preset, case]) for case in sweep) + " |")


def _measure(
    models: dict[str, Model], cases: Iterable[Case], options: argparse.Namespace
) -> dict[tuple[str, Case], list[float]]:
    """Tokens a second of every model and case, interleaved."""
    speeds: dict[tuple[str, Case], list[float]] = {}
    generator = torch.Generator().manual_seed(1)
    for _ in range(options.rounds):
        for case in sorted(cases, key=repr):
            sources = torch.randint(3, options.size, (options.sentences, case.length), generator=generator).tolist()
            search = SearchSettings(beams=case.beams, batch_tokens=case.batch_tokens, max_tokens=case.length)
            for preset, model in models.items():
                start = time.perf_counter()
                decode(model, sources, search)
                seconds = time.perf_counter() - start
                speeds.setdefault((preset, case), []).append(options.sentences * case.length / seconds)
    return speeds


def _endless(preset: str, width: int, size: int) -> Model:
    model = fuse(
        build_model(
            plan_model(settle({"model": {"preset": preset, "width": width, "dropout": 0.0}}).model),
            size,
            size,
            True,
            1,
        )
    )
    with torch.no_grad():
        model.output_layer.bias[EOS] = -1e9
    return model.eval()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--size", type=int, default=4000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
