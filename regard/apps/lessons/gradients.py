"""The derivative as a limit: (f(x + h u) - f(x)) / h against what autograd says, for every layer and every h."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from regard.apps.lessons.bricks import Brick, bricks
from regard.apps.lessons.complexity import exponent
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, bound, margin
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

FORWARD, CENTRAL = "(f(x+h) - f(x)) / h", "(f(x+h) - f(x-h)) / 2h"
FORMULAS = (FORWARD, CENTRAL)
STEPS = [10 ** (-half / 2) for half in range(2, 25)]  # 0.1 to 1e-12
FALLING = {FORWARD: (1e-6, 1e-2), CENTRAL: (1e-4, 1e-2)}  # where the limit is approached, far from rounding
RISING = (1e-12, 1e-9)  # where rounding dominates
ORDER = {FORWARD: 1, CENTRAL: 2}
ENOUGH = {FORWARD: 1e-6, CENTRAL: 1e-8}
Errors = dict[str, Points]  # of a formula: (h, relative error)


class WrongTanh(torch.autograd.Function):
    """tanh with the derivative 1 - tanh in place of 1 - tanh²: the control, which must be found wrong."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.tanh())
        return x.tanh()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Tensor:
        return gradients[0] * (1 - ctx.saved_tensors[0])


def wrong_brick(seed: int) -> Brick:
    x = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed), requires_grad=True)
    return Brick("wrong on purpose", nn.Identity(), WrongTanh.apply, (x,))


def errors(brick: Brick, seed: int, directions: int) -> Errors:
    """Of f(x) = r·outputs(x) along random directions u: the difference from u·∇f, over |∇f|, root mean square."""
    draw = torch.Generator().manual_seed(seed)
    leaves = brick.leaves
    outputs = brick.outputs()
    readout = torch.randn(outputs.shape, dtype=torch.float64, generator=draw)
    gradient = torch.autograd.grad(outputs @ readout, leaves)
    size = math.sqrt(sum(derivative.square().sum().item() for derivative in gradient))
    start = [leaf.detach().clone() for leaf in leaves]

    def value(step: float, along: list[Tensor]) -> float:
        with torch.no_grad():
            for leaf, origin, direction in zip(leaves, start, along, strict=True):
                leaf.copy_(origin + step * direction)
            return (brick.outputs() @ readout).item()

    squares = {formula: [0.0] * len(STEPS) for formula in FORMULAS}
    for _ in range(directions):
        along = [torch.randn(leaf.shape, dtype=torch.float64, generator=draw) for leaf in leaves]
        slope = sum(
            (derivative * direction).sum().item() for derivative, direction in zip(gradient, along, strict=True)
        )
        centre = value(0.0, along)
        for index, step in enumerate(STEPS):
            above, below = value(step, along), value(-step, along)
            squares[FORWARD][index] += ((above - centre) / step - slope) ** 2
            squares[CENTRAL][index] += ((above - below) / (2 * step) - slope) ** 2
    value(0.0, start)  # restore the leaves
    return {
        formula: [(step, math.sqrt(total / directions) / size) for step, total in zip(STEPS, sums, strict=True)]
        for formula, sums in squares.items()
    }


def best(points: Points) -> tuple[float, float]:
    """The smallest error, and the h that gives it."""
    return min((error, step) for step, error in points)


def slope(points: Points, low: float, high: float) -> float:
    """The exponent of the error in h between two values of h. A linear layer has only rounding errors there."""
    return exponent([(step, max(error, 1e-18)) for step, error in points if low * 0.99 <= step <= high * 1.01])


def depth(points: Points) -> float:
    """By how many powers of ten the best error lies below those at the largest and at the smallest h."""
    floor = max(best(points)[0], 1e-18)
    return math.log10(max(min(points[0][1], points[-1][1]), 1e-18) / floor)


def run(budget: Budget) -> Finding:
    directions = budget.pick(tiny=1, quick=4, full=16)
    results: dict[str, list[Errors]] = {}
    for seed in budget.seeds:
        all_bricks = bricks(seed)
        for index, brick in enumerate(all_bricks):
            budget.pool.progress(f"gradients, seed {seed}", index, len(all_bricks))
            results.setdefault(brick.name, []).append(errors(brick, seed, directions))
    wrong = [errors(wrong_brick(seed), seed, directions) for seed in budget.seeds]
    worst = {
        formula: max(best(curves[formula])[0] for runs in results.values() for curves in runs) for formula in FORMULAS
    }

    def middle(formula: str, low: float, high: float) -> list[float]:
        """The slope of the median layer, seed by seed."""
        count = range(len(budget.seeds))
        return [median(slope(runs[index][formula], low, high) for runs in results.values()) for index in count]

    verdicts = []
    for formula in FORMULAS:
        verdicts.append(
            bound(
                f"the worst of {len(results)} layers at its best h: {formula} off by", worst[formula], ENOUGH[formula]
            )
        )
        off = max(abs(power - ORDER[formula]) for power in middle(formula, *FALLING[formula]))
        verdicts.append(bound(f"the error falls as h{'²' if ORDER[formula] == 2 else ''}: exponent off by", off, 0.25))
        off = max(abs(power + 1) for power in middle(formula, *RISING))
        verdicts.append(bound("and then rises as 1/h, by rounding: exponent off by", off, 0.25))
        deep = [median(depth(runs[index][formula]) for runs in results.values()) for index in range(len(budget.seeds))]
        verdicts.append(margin("the V of the median layer is deep", deep, "powers of ten", more_than=2))
    missed = [min(best(curves[formula])[0] for formula in FORMULAS) for curves in wrong]
    verdicts.append(
        margin(
            "control: a wrong derivative is found; its error at the best h", missed, "of the gradient", more_than=0.01
        )
    )
    return Finding(
        experiment=f"Each of {len(results)} layers in float64, as a function of all its parameters and inputs, times a "
        f"random vector; along {directions} random directions the quotient is compared with the gradient of "
        "autograd, for h from 0.1 to 1e-12; errors are relative to the gradient's norm. One derivative is wrong on "
        "purpose.",
        tables=(Table(("layer", "best error", "at h", "best error, central", "at h"), tuple(_rows(results))),),
        figures=(line_chart("", [_panel({name: runs[0] for name, runs in results.items()}, wrong[0])]),),
        verdicts=tuple(verdicts),
        numbers={"errors": results, "wrong on purpose": wrong},
    )


def _rows(results: dict[str, list[Errors]]) -> list[tuple[str, ...]]:
    """The worst seed of each layer."""
    rows: list[tuple[str, ...]] = []
    for name, runs in results.items():
        worst = [max(best(curves[formula]) for curves in runs) for formula in FORMULAS]
        rows.append((name, *(f"{value:.1e}" for pair in worst for value in pair)))
    return rows


def _panel(results: dict[str, Errors], wrong: Errors) -> Panel:
    lines = []
    for formula, colour in zip(FORMULAS, COLOURS, strict=False):
        for curves in results.values():
            seen = [(step, error) for step, error in curves[formula] if error > 0]  # zero has no logarithm
            lines.append(Line(formula, seen, colour, dots=False))
    lines.append(Line("wrong on purpose", wrong[CENTRAL], COLOURS[4], dots=False))
    for power, factor in ((1, 1.0), (2, 1.0), (-1, 2**-52)):
        guide = [(step, factor * step**power) for step in STEPS if factor * step**power > 1e-17]
        lines.append(Line("h, h², ε/h", guide, COLOURS[8], dots=False, dashed=True))
    title = "relative error by h, a line for each layer; those below ε/h at large h are linear"
    return Panel(title, lines, x=Axis("h", log=True), y=Axis(log=True, low=1e-17, high=10))


LESSON = Lesson(
    name="gradients",
    claim="The derivative is the limit of difference quotients, and autograd computes it, for every layer.",
    after="the lectures on backpropagation",
    run=run,
    formula="f'(x) = lim_(h→0) (f(x + h) - f(x)) / h     autograd: chain rule, backwards",
    model=("inputs", "a layer", "a number", "its gradient, twice"),
)
