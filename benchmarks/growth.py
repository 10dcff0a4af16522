"""Time and memory of one layer against the length, 16 to 4,096: recurrence, convolution, attention open and fused.

python benchmarks/growth.py [--rounds 5] [--longest 4096] [--width 128]

Forward and backward of one sequence, processor time of one thread; memory is what autograd keeps for the way back. The
recurrence is the one that training runs, unrolled as one node. Fused attention must not build the T × T matrix.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from regard.lessons.cost import exponent, saved_bytes, seconds
from regard.lessons.three_ways import convolution, fused_attention, open_attention
from regard.nn.recurrent import Stack
from regard.runtime import prepare

Layer = Callable[[int], tuple[nn.Module, Callable[[Tensor], Tensor]]]


def recurrence(kind: str, width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    stack = Stack(kind, width, width, 1, 0.0)  # pyrefly: ignore[bad-argument-type]
    return stack, lambda inputs: stack(inputs, stack.zero(inputs))[0]


LAYERS: dict[str, Layer] = {
    "RNN": partial(recurrence, "rnn"),
    "LSTM": partial(recurrence, "lstm"),
    "convolution": convolution,
    "self-attention": open_attention,
    "self-attention, fused": fused_attention,
}


def main() -> None:
    options = _options()
    prepare(1)
    lengths = [16 << shift for shift in range(options.longest.bit_length()) if 16 << shift <= options.longest]
    layers = {name: make(options.width) for name, make in LAYERS.items()}
    work, memory = {}, {}
    for name, (module, apply) in layers.items():
        for length in lengths:
            inputs = torch.randn(1, length, options.width, requires_grad=True)
            work[name, length] = partial(_there_and_back, apply, inputs)
            kept = saved_bytes(partial(apply, inputs), [inputs, *module.parameters()])
            memory[name, length] = kept / 2**20
    taken = seconds(work, options.rounds, "growth", lambda *_: None)
    machine = platform.processor() or platform.machine()
    print(f"## Growth with the length: width {options.width}, forward and backward\n")
    print(f"{machine}, 1 thread, torch {torch.__version__}; of {options.rounds} rounds; e: exponent of the last four\n")
    for title, values, scale in (("milliseconds", taken, 1000), ("MiB kept", memory, 1)):
        print(f"| {title} | " + " | ".join(f"{length:,}" for length in lengths) + " | e |")
        print("|---|" + "---:|" * (len(lengths) + 1))
        for name in layers:
            row = [(float(length), scale * values[name, length]) for length in lengths]
            cells = " | ".join(f"{value:.3g}" for _, value in row)
            print(f"| {name} | {cells} | {exponent(row[-4:]):.2f} |")
        print()


def _there_and_back(apply: Callable[[Tensor], Tensor], inputs: Tensor) -> None:
    apply(inputs).sum().backward()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--longest", type=int, default=4096)
    parser.add_argument("--width", type=int, default=128)
    return parser.parse_args()


if __name__ == "__main__":
    main()
