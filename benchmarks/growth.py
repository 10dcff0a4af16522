"""Time and memory of one layer against the length, 16 to 4,096: recurrence, convolution, attention plain and fused.

python benchmarks/growth.py [--rounds 5] [--longest 4096] [--width 128]

Forward and backward of one sequence, processor time of one thread; memory is what autograd keeps for the backward pass.
The recurrence is the kernel that training runs. Fused attention does not build the T × T matrix, also where it is
causal, or where the last eighth of the positions is padding.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from _machine import machine
from _rounds import spread, timed
from torch import Tensor, nn

from regard.apps.lessons.complexity import exponent, saved_bytes
from regard.apps.lessons.three_ways import convolution, fused_attention, open_attention
from regard.nn.masks import key_mask
from regard.nn.recurrent import Stack
from regard.threads import configure_torch

Layer = Callable[[int], tuple[nn.Module, Callable[[Tensor], Tensor]]]


def recurrence(kind: str, width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    stack = Stack(kind, width, width, 1, 0.0)  # pyrefly: ignore[bad-argument-type]
    return stack, lambda inputs: stack(inputs, stack.start(inputs))[0]


def causal_attention(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    attention, _ = fused_attention(width)
    return attention, lambda inputs: attention(inputs, *attention.prepare(inputs), causal=True)


def padded_attention(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    attention, _ = fused_attention(width)

    def apply(inputs: Tensor) -> Tensor:
        length = inputs.shape[1]
        real = torch.arange(length)[None] < length - length // 8
        return attention(inputs, *attention.prepare(inputs), key_mask(real))

    return attention, apply


LAYERS: dict[str, Layer] = {
    "RNN": partial(recurrence, "rnn"),
    "LSTM": partial(recurrence, "lstm"),
    "convolution": convolution,
    "self-attention": open_attention,
    "self-attention, fused": fused_attention,
    "self-attention, fused, causal": causal_attention,
    "self-attention, fused, padded": padded_attention,
}


def main() -> None:
    options = _options()
    configure_torch(1)
    lengths = [16 << shift for shift in range(options.longest.bit_length()) if 16 << shift <= options.longest]
    layers = {name: make(options.width) for name, make in LAYERS.items()}
    work: dict[tuple[str, int], Callable[[], None]] = {}
    memory: dict[tuple[str, int], list[float]] = {}
    for name, (module, apply) in layers.items():
        for length in lengths:
            inputs = torch.randn(1, length, options.width, requires_grad=True)
            work[name, length] = partial(_forward_backward, apply, inputs)
            kept = saved_bytes(partial(apply, inputs), [inputs, *module.parameters()])
            memory[name, length] = [kept / 2**20]  # the same in every round
    timed(work, 1)  # warm-up
    seconds = timed(work, options.rounds, time.process_time)
    milliseconds = {key: [1000 * second for second in own] for key, own in seconds.items()}
    print(f"## Growth with the length: width {options.width}, forward and backward\n")
    print(f"{machine()}; 1 thread; medians of {options.rounds} interleaved rounds (range); ", end="")
    print("e: exponent of the last four\n")
    _table("milliseconds", list(layers), lengths, milliseconds, partial(spread, form=".3g"))
    _table("MiB kept", list(layers), lengths, memory, lambda values: f"{values[0]:.3g}")


def _table(
    title: str,
    names: list[str],
    lengths: list[int],
    measured: dict[tuple[str, int], list[float]],
    cell: Callable[[list[float]], str],
) -> None:
    print(f"| {title} | " + " | ".join(f"{length:,}" for length in lengths) + " | e |")
    print("|---|" + "---:|" * (len(lengths) + 1))
    for name in names:
        row = [measured[name, length] for length in lengths]
        last = [(float(length), statistics.median(values)) for length, values in zip(lengths, row, strict=True)][-4:]
        print(f"| {name} | " + " | ".join(map(cell, row)) + f" | {exponent(last):.2f} |")
    print()


def _forward_backward(apply: Callable[[Tensor], Tensor], inputs: Tensor) -> None:
    apply(inputs).sum().backward()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--longest", type=int, default=4096)
    parser.add_argument("--width", type=int, default=128)
    return parser.parse_args()


if __name__ == "__main__":
    main()
