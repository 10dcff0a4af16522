"""The derivative as a limit: (f(x + h u) - f(x)) / h against what autograd says, for every brick and every h."""

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
RISING = (1e-12, 1e-9)  # where rounding is all there is
ORDER = {FORWARD: 1, CENTRAL: 2}
ENOUGH = {FORWARD: 1e-6, CENTRAL: 1e-8}
Errors = dict[str, Points]  # of a formula: (h, relative error)


class WrongTanh(torch.autograd.Function):
    """tanh with the derivative 1 - tanh in place of 1 - tanh²: what must be noticed."""

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
    size = math.sqrt(sum(one.square().sum().item() for one in gradient))
    start = [leaf.detach().clone() for leaf in leaves]

    def value(step: float, along: list[Tensor]) -> float:
        with torch.no_grad():
            for leaf, place, way in zip(leaves, start, along, strict=True):
                leaf.copy_(place + step * way)
            return (brick.outputs() @ readout).item()

    squares = {formula: [0.0] * len(STEPS) for formula in FORMULAS}
    for _ in range(directions):
        along = [torch.randn(leaf.shape, dtype=torch.float64, generator=draw) for leaf in leaves]
        slope = sum((one * way).sum().item() for one, way in zip(gradient, along, strict=True))
        here = value(0.0, along)
        for place, step in enumerate(STEPS):
            ahead, behind = value(step, along), value(-step, along)
            squares[FORWARD][place] += ((ahead - here) / step - slope) ** 2
            squares[CENTRAL][place] += ((ahead - behind) / (2 * step) - slope) ** 2
    value(0.0, start)  # leave everything as it was
    return {
        formula: [(step, math.sqrt(one / directions) / size) for step, one in zip(STEPS, sums, strict=True)]
        for formula, sums in squares.items()
    }


def best(points: Points) -> tuple[float, float]:
    """The smallest error, and the h that gives it."""
    return min((error, step) for step, error in points)


def slope(points: Points, low: float, high: float) -> float:
    """The exponent of the error in h between two values of h. A linear brick has no error there but rounding."""
    return exponent([(step, max(error, 1e-18)) for step, error in points if low * 0.99 <= step <= high * 1.01])


def depth(points: Points) -> float:
    """By how many powers of ten the best error lies below those at the largest and at the smallest h."""
    floor = max(best(points)[0], 1e-18)
    return math.log10(max(min(points[0][1], points[-1][1]), 1e-18) / floor)


def run(budget: Budget) -> Finding:
    directions = budget.pick(tiny=1, quick=4, full=16)
    found: dict[str, list[Errors]] = {}
    for seed in budget.seeds:
        wall = bricks(seed)
        for place, brick in enumerate(wall):
            budget.pool.progress(f"gradients, seed {seed}", place, len(wall))
            found.setdefault(brick.name, []).append(errors(brick, seed, directions))
    wrong = [errors(wrong_brick(seed), seed, directions) for seed in budget.seeds]
    worst = {formula: max(best(one[formula])[0] for each in found.values() for one in each) for formula in FORMULAS}

    def middle(formula: str, low: float, high: float) -> list[float]:
        """The median brick's slope, seed by seed."""
        count = range(len(budget.seeds))
        return [median(slope(each[place][formula], low, high) for each in found.values()) for place in count]

    verdicts = []
    for formula in FORMULAS:
        verdicts.append(
            bound(f"the worst of {len(found)} bricks at its best h: {formula} off by", worst[formula], ENOUGH[formula])
        )
        off = max(abs(one - ORDER[formula]) for one in middle(formula, *FALLING[formula]))
        verdicts.append(bound(f"the error falls as h{'²' if ORDER[formula] == 2 else ''}: exponent off by", off, 0.25))
        off = max(abs(one + 1) for one in middle(formula, *RISING))
        verdicts.append(bound("and then rises as 1/h, by rounding: exponent off by", off, 0.25))
        deep = [median(depth(each[place][formula]) for each in found.values()) for place in range(len(budget.seeds))]
        verdicts.append(margin("the median brick's V is deep", deep, "powers of ten", more_than=2))
    missed = [min(best(one[formula])[0] for formula in FORMULAS) for one in wrong]
    verdicts.append(margin("a wrong derivative is noticed: its error at the best h", missed, "of it", more_than=0.01))
    return Finding(
        experiment=f"Each of {len(found)} bricks in float64, as a function of all its parameters and inputs, read out "
        f"by a random vector; along {directions} random directions the quotient is compared with the gradient by "
        "autograd, for h from 0.1 to 1e-12; errors are relative to the gradient's norm. One derivative is wrong on "
        "purpose.",
        tables=(Table(("brick", "best error", "at h", "best error, central", "at h"), tuple(_rows(found))),),
        figures=(line_chart("", [_panel({name: each[0] for name, each in found.items()}, wrong[0])]),),
        verdicts=tuple(verdicts),
        numbers={"errors": found, "wrong on purpose": wrong},
    )


def _rows(found: dict[str, list[Errors]]) -> list[tuple[str, ...]]:
    """The worst seed of each brick."""
    rows: list[tuple[str, ...]] = []
    for name, each in found.items():
        worst = [max(best(one[formula]) for one in each) for formula in FORMULAS]
        rows.append((name, *(f"{value:.1e}" for pair in worst for value in pair)))
    return rows


def _panel(found: dict[str, Errors], wrong: Errors) -> Panel:
    lines = []
    for formula, colour in zip(FORMULAS, COLOURS, strict=False):
        for one in found.values():
            seen = [(step, error) for step, error in one[formula] if error > 0]  # the logarithm knows no exact hit
            lines.append(Line(formula, seen, colour, dots=False))
    lines.append(Line("wrong on purpose", wrong[CENTRAL], COLOURS[4], dots=False))
    for power, factor in ((1, 1.0), (2, 1.0), (-1, 2**-52)):
        guide = [(step, factor * step**power) for step in STEPS if factor * step**power > 1e-17]
        lines.append(Line("h, h², ε/h", guide, COLOURS[8], dots=False, dashed=True))
    title = "relative error by h, a line a brick; those below ε/h at large h are linear"
    return Panel(title, lines, x=Axis("h", log=True), y=Axis(log=True, low=1e-17, high=10))


LESSON = Lesson(
    name="gradients",
    claim="The derivative is the limit of difference quotients, and autograd computes it, for every brick.",
    after="the lectures on backpropagation",
    run=run,
)
