"""Vaswani 2017, table 1: what a layer of recurrence, convolution or self-attention costs, and its receptive field."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import torch
from torch import Tensor, nn

from regard.apps.lessons.complexity import cpu_seconds, exponent, graph_depth, saved_bytes
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, mean_range
from regard.nn.attention import MultiHeadAttention
from regard.nn.convolution import GatedConvolution
from regard.nn.recurrent import Stack
from regard.nn.taps import Tap, watching
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

KERNEL, TOLERANCE, FITTED = 3, 0.25, 4
RNN, CONVOLUTION, OPEN, FUSED = "RNN", "convolution", "self-attention", "self-attention, fused"
Curves = dict[str, Points]


@dataclass(frozen=True)
class LayerKind:
    """One layer (B, T, D) → (B, T, D), and how its costs grow with T by the paper: the exponents of time and memory."""

    name: str
    make: Callable[[int], tuple[nn.Module, Callable[[Tensor], Tensor]]]
    time: int
    memory: int
    series: int  # exponent of the chain of operations: 1 sequential, 0 parallel


def recurrence(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Step by step, as for a tap; the kernel does the same sequence as one node of the graph, where it is not seen."""
    stack = Stack("rnn", width, width, 1, 0.0)
    return stack, lambda inputs: stack(inputs, stack.start(inputs), tap=Tap())[0]


def convolution(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    layer = GatedConvolution(width, KERNEL, causal=True)
    return layer, layer


def fused_attention(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    attention = MultiHeadAttention(width, width, 1, "split", 0.0)
    return attention, lambda inputs: attention(inputs, *attention.prepare(inputs))


def open_attention(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    attention, apply = fused_attention(width)

    def in_the_open(inputs: Tensor) -> Tensor:
        with watching(attention, record=False):
            return apply(inputs)

    return attention, in_the_open


LAYERS = (
    LayerKind(RNN, recurrence, time=1, memory=1, series=1),
    LayerKind(CONVOLUTION, convolution, time=1, memory=1, series=0),
    LayerKind(OPEN, open_attention, time=2, memory=2, series=0),
    LayerKind(FUSED, fused_attention, time=2, memory=1, series=0),
)


def layers_until_seen(kind: LayerKind, length: int) -> int:
    """How many layers until the last output has a gradient in the first input; float64, so that none is lost."""
    torch.manual_seed(1)
    inputs = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
    states = inputs
    for depth in count(1):
        module, apply = kind.make(8)
        module.double()
        states = apply(states)
        (gradient,) = torch.autograd.grad(states[:, -1].sum(), inputs, retain_graph=True)
        if bool(gradient[:, 0].any()):
            return depth
    raise AssertionError("count has no end")


def forward_and_backward(kind: LayerKind, length: int, width: int, seed: int) -> Callable[[], object]:
    """Forward and backward through one layer."""
    torch.manual_seed(seed)
    inputs = torch.randn(1, length, width, requires_grad=True)
    _, apply = kind.make(width)
    return lambda: apply(inputs).sum().backward()


def measure_time(budget: Budget, lengths: tuple[int, ...], width: int, seed: int) -> Curves:
    rounds = budget.pick(tiny=1, quick=3, full=9)
    work = {
        (kind.name, length): forward_and_backward(kind, length, width, seed) for length in lengths for kind in LAYERS
    }
    seconds = cpu_seconds(work, rounds, f"three-ways, seed {seed}", budget.pool.progress)
    return {kind.name: [(length, 1000 * seconds[kind.name, length]) for length in lengths] for kind in LAYERS}


def measure_memory(lengths: tuple[int, ...], width: int) -> tuple[Curves, Curves]:
    """MB kept for the backward pass, and operations in sequence; neither is random."""
    memory: Curves = {kind.name: [] for kind in LAYERS}
    series: Curves = {kind.name: [] for kind in LAYERS}
    for kind in LAYERS:
        module, apply = kind.make(width)
        for length in lengths:
            inputs = torch.randn(1, length, width, requires_grad=True)
            kept = saved_bytes(lambda apply=apply, inputs=inputs: apply(inputs), [inputs, *module.parameters()])
            memory[kind.name].append((length, kept / 2**20))
            series[kind.name].append((length, float(graph_depth(partial(apply, inputs)))))
    return memory, series


def grown(measured: Curves, kind: LayerKind) -> float:
    """The exponent of growth over the largest lengths."""
    return exponent(measured[kind.name][-FITTED:])


def exponent_verdict(what: str, kind: LayerKind, expected: int, exponents: list[float]) -> Verdict:
    """All exponents are near the expected one."""
    growth = f"grows with exponent {expected} (measured {mean_range(exponents, 2)})"
    worst = max(abs(value - expected) for value in exponents)
    return bound(f"the {what} of {kind.name} {growth}, off by", worst, TOLERANCE)


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=64, quick=8192, full=8192)
    lengths = tuple(longest >> shift for shift in (5, 4, 3, 2, 1, 0))
    width = budget.pick(tiny=8, quick=64, full=64)
    reaches = budget.pick(tiny=(4, 8), quick=(4, 8, 16, 32, 64), full=(4, 8, 16, 32, 64, 128))
    times = {seed: measure_time(budget, lengths, width, seed) for seed in budget.seeds}
    memory, series = measure_memory(lengths, width)
    layers: Curves = {kind.name: [(n, float(layers_until_seen(kind, n))) for n in reaches] for kind in LAYERS}

    rows = tuple(
        (
            kind.name,
            f"{times[budget.seeds[0]][kind.name][-1][1]:,.0f}",
            mean_range([grown(times[seed], kind) for seed in budget.seeds], 2),
            f"{memory[kind.name][-1][1]:.3g}",
            f"{grown(memory, kind):.2f}",
            f"{series[kind.name][-1][1]:,.0f}",
            f"{layers[kind.name][-1][1]:.0f}",
        )
        for kind in LAYERS
    )
    titles = (
        "layer",
        f"ms at {longest:,}",
        "its exponent",
        f"MB at {longest:,}",
        "its exponent",
        "operations in sequence",
    )
    formula = all(seen == math.ceil((n - 1) / (KERNEL - 1)) for n, seen in layers[CONVOLUTION])
    one_layer_suffices = all(seen == 1 for kind in LAYERS if kind.name != CONVOLUTION for _, seen in layers[kind.name])
    sights = ", ".join(f"{seen:.0f} at {n}" for n, seen in layers[CONVOLUTION])
    return Finding(
        experiment=f"One layer of each kind, width {width}, one head, kernel {KERNEL}, batch 1, lengths {lengths[0]} "
        f"to {longest:,}. Time: forward and backward, processor time of one thread, medians of interleaved rounds, "
        "anew for each seed. Memory: the bytes that autograd keeps until the backward pass, parameters and inputs not "
        "counted; self-attention once with its matrices kept, once by the fused kernel, which computes them again. "
        "In sequence: the longest chain of operations in the graph. Exponents: a line through the logarithms of the "
        f"{FITTED} largest lengths.",
        tables=(Table((*titles, f"layers until the last sees the first of {reaches[-1]}"), rows),),
        figures=(line_chart("", _panels(times, memory, series)), line_chart("", [_sight(layers)])),
        verdicts=(
            *(
                exponent_verdict("time", kind, kind.time, [grown(times[seed], kind) for seed in budget.seeds])
                for kind in LAYERS
            ),
            *(exponent_verdict("memory", kind, kind.memory, [grown(memory, kind)]) for kind in LAYERS),
            *(exponent_verdict("chain", kind, kind.series, [grown(series, kind)]) for kind in LAYERS),
            Verdict(
                "one layer of RNN or self-attention sees the whole input",
                one_layer_suffices,
                f"lengths up to {reaches[-1]}",
            ),
            Verdict(f"a convolution needs ⌈(n-1)/{KERNEL - 1}⌉ layers for it", formula, f"{sights} inputs"),
        ),
        numbers={"milliseconds": times, "megabytes": memory, "in sequence": series, "layers": layers},
    )


def _panels(times: dict[int, Curves], memory: Curves, series: Curves) -> list[Panel]:
    axes = {"x": Axis("length", log=True), "y": Axis(log=True)}
    timed = [Line(name, measured[name], colour) for name, colour in _colours() for measured in times.values()]
    panels = [Panel("milliseconds forward and backward, a line for each seed", timed, **axes)]
    for title, measured in (("MB kept for the backward pass", memory), ("operations in sequence", series)):
        lines = [Line(name, measured[name], colour) for name, colour in _colours()]
        panels.append(Panel(title, lines, **axes))
    return panels


def _sight(layers: Curves) -> Panel:
    lines = [Line(name, layers[name], colour) for name, colour in _colours()]
    axis = Axis("length", log=True)
    return Panel("layers until the last output sees the first input", lines, x=axis, y=Axis(log=True))


def _colours() -> list[tuple[str, str]]:
    return [(kind.name, COLOURS[index]) for index, kind in enumerate(LAYERS)]


LESSON = Lesson(
    name="three-ways",
    claim="Over long inputs an RNN is linear but sequential, a convolution linear but local, and self-attention "
    "quadratic but parallel, and it sees the whole input in one layer.",
    after="Vaswani et al. 2017, section 4 and table 1",
    run=run,
    formula="RNN: n steps of 1     convolution: log n layers     attention: 1 layer of n²",
    model=("a long input", "RNN, convolution or attention", "states", "steps, time and reach"),
)
