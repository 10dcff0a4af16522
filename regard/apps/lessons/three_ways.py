"""Vaswani 2017, table 1: what a layer of recurrence, convolution or self-attention costs, and how far it sees."""

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
Measured = dict[str, Points]


@dataclass(frozen=True)
class Way:
    """One layer (B, T, D) → (B, T, D), and how its costs are said to grow with T: the exponents of time and memory."""

    name: str
    make: Callable[[int], tuple[nn.Module, Callable[[Tensor], Tensor]]]
    time: int
    memory: int
    series: int  # of the chain of operations: 1 in series, 0 in parallel


def recurrence(width: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Step by step, as a tap has it; unrolled as one node of the graph it does the same in series, out of sight."""
    stack = Stack("rnn", width, width, 1, 0.0)
    return stack, lambda inputs: stack(inputs, stack.zero(inputs), tap=Tap())[0]


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


WAYS = (
    Way(RNN, recurrence, time=1, memory=1, series=1),
    Way(CONVOLUTION, convolution, time=1, memory=1, series=0),
    Way(OPEN, open_attention, time=2, memory=2, series=0),
    Way(FUSED, fused_attention, time=2, memory=1, series=0),
)


def layers_until_seen(way: Way, length: int) -> int:
    """How many layers until the last output has a gradient in the first input; float64, so that none is lost."""
    torch.manual_seed(1)
    inputs = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
    states = inputs
    for depth in count(1):
        module, apply = way.make(8)
        module.double()
        states = apply(states)
        (gradient,) = torch.autograd.grad(states[:, -1].sum(), inputs, retain_graph=True)
        if bool(gradient[:, 0].any()):
            return depth
    raise AssertionError("count has no end")


def there_and_back(way: Way, length: int, width: int, seed: int) -> Callable[[], object]:
    """A forward and a backward pass through one layer."""
    torch.manual_seed(seed)
    inputs = torch.randn(1, length, width, requires_grad=True)
    _, apply = way.make(width)
    return lambda: apply(inputs).sum().backward()


def measure_time(budget: Budget, lengths: tuple[int, ...], width: int, seed: int) -> Measured:
    rounds = budget.pick(tiny=1, quick=3, full=9)
    work = {(way.name, length): there_and_back(way, length, width, seed) for length in lengths for way in WAYS}
    taken = cpu_seconds(work, rounds, f"three-ways, seed {seed}", budget.pool.progress)
    return {way.name: [(length, 1000 * taken[way.name, length]) for length in lengths] for way in WAYS}


def measure_memory(lengths: tuple[int, ...], width: int) -> tuple[Measured, Measured]:
    """MB that are kept for the way back, and operations in series; neither depends on chance."""
    memory: Measured = {way.name: [] for way in WAYS}
    series: Measured = {way.name: [] for way in WAYS}
    for way in WAYS:
        module, apply = way.make(width)
        for length in lengths:
            inputs = torch.randn(1, length, width, requires_grad=True)
            kept = saved_bytes(lambda apply=apply, inputs=inputs: apply(inputs), [inputs, *module.parameters()])
            memory[way.name].append((length, kept / 2**20))
            series[way.name].append((length, float(graph_depth(partial(apply, inputs)))))
    return memory, series


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=64, quick=8192, full=8192)
    lengths = tuple(longest >> shift for shift in (5, 4, 3, 2, 1, 0))
    width = budget.pick(tiny=8, quick=64, full=64)
    reaches = budget.pick(tiny=(4, 8), quick=(4, 8, 16, 32, 64), full=(4, 8, 16, 32, 64, 128))
    times = {seed: measure_time(budget, lengths, width, seed) for seed in budget.seeds}
    memory, series = measure_memory(lengths, width)
    layers: Measured = {way.name: [(n, float(layers_until_seen(way, n))) for n in reaches] for way in WAYS}

    def grown(measured: Measured, way: Way) -> float:
        return exponent(measured[way.name][-FITTED:])

    def about(what: str, way: Way, power: int, found: list[float]) -> Verdict:
        worst = max(abs(one - power) for one in found)
        said = f"the {what} of {way.name} grows with exponent {power} ({mean_range(found, 2)} found), off by"
        return bound(said, worst, TOLERANCE)

    rows = tuple(
        (
            way.name,
            f"{times[budget.seeds[0]][way.name][-1][1]:,.0f}",
            mean_range([grown(times[seed], way) for seed in budget.seeds], 2),
            f"{memory[way.name][-1][1]:.3g}",
            f"{grown(memory, way):.2f}",
            f"{series[way.name][-1][1]:,.0f}",
            f"{layers[way.name][-1][1]:.0f}",
        )
        for way in WAYS
    )
    titles = (
        "layer",
        f"ms at {longest:,}",
        "its exponent",
        f"MB at {longest:,}",
        "its exponent",
        "operations in series",
    )
    formula = all(seen == math.ceil((n - 1) / (KERNEL - 1)) for n, seen in layers[CONVOLUTION])
    at_once = all(seen == 1 for way in WAYS if way.name != CONVOLUTION for _, seen in layers[way.name])
    sights = ", ".join(f"{seen:.0f} at {n}" for n, seen in layers[CONVOLUTION])
    return Finding(
        experiment=f"One layer of each kind, width {width}, one head, kernel {KERNEL}, batch 1, lengths {lengths[0]} "
        f"to {longest:,}. Time: forward and backward, processor time of one thread, medians of interleaved rounds, "
        "anew for each seed. Memory: the bytes that autograd keeps until the backward pass, parameters and inputs not "
        "counted; self-attention once with its matrices in the open, once by the fused kernel, which makes them anew. "
        "In series: the longest chain of operations in the graph. Exponents: a line through the logarithms of the "
        f"{FITTED} largest lengths.",
        tables=(Table((*titles, f"layers until the last sees the first of {reaches[-1]}"), rows),),
        figures=(line_chart("", _panels(times, memory, series)), line_chart("", [_sight(layers)])),
        verdicts=(
            *(about("time", way, way.time, [grown(times[seed], way) for seed in budget.seeds]) for way in WAYS),
            *(about("memory", way, way.memory, [grown(memory, way)]) for way in WAYS),
            *(about("chain", way, way.series, [grown(series, way)]) for way in WAYS),
            Verdict("one layer of RNN or self-attention sees everything", at_once, f"lengths up to {reaches[-1]}"),
            Verdict(f"a convolution needs ⌈(n-1)/{KERNEL - 1}⌉ layers for that", formula, f"{sights} inputs"),
        ),
        numbers={"milliseconds": times, "megabytes": memory, "in series": series, "layers": layers},
    )


def _panels(times: dict[int, Measured], memory: Measured, series: Measured) -> list[Panel]:
    axes = {"x": Axis("length", log=True), "y": Axis(log=True)}
    timed = [Line(name, one[name], colour) for name, colour in _colours() for one in times.values()]
    panels = [Panel("milliseconds there and back, a line a seed", timed, **axes)]
    for title, measured in (("MB kept for the way back", memory), ("operations in series", series)):
        lines = [Line(name, measured[name], colour) for name, colour in _colours()]
        panels.append(Panel(title, lines, **axes))
    return panels


def _sight(layers: Measured) -> Panel:
    lines = [Line(name, layers[name], colour) for name, colour in _colours()]
    axis = Axis("length", log=True)
    return Panel("layers until the last output sees the first input", lines, x=axis, y=Axis(log=True))


def _colours() -> list[tuple[str, str]]:
    return [(way.name, COLOURS[place]) for place, way in enumerate(WAYS)]


LESSON = Lesson(
    name="three-ways",
    claim="Over long inputs an RNN is linear but in series, a convolution linear but local, self-attention quadratic, "
    "in parallel, and sees everything at once.",
    after="Vaswani et al. 2017, section 4 and table 1",
    run=run,
)
