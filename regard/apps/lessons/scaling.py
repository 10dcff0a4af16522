"""Vaswani 2017, 3.2.1 and its footnote: what 1/√d does to the softmax of dot products."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, bound, margin, mean_range
from regard.nn.attention import Dot, ScaledDot, weigh
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

KEYS = 64
SCORES = {"q·k": Dot(), "q·k / √d": ScaledDot()}
RAW, ROOTED = SCORES
ENTROPY, GRADIENT, MEAN_GRADIENT = "entropy", "gradient, median", "gradient, mean"


def entropy(weights: Tensor) -> Tensor:
    """-Σ w log w in nats: (…, S) → (…)."""
    return -torch.special.xlogy(weights, weights).sum(-1)


def jacobian_norm(weights: Tensor) -> Tensor:
    """|∂w/∂s| (Frobenius) of w = softmax(s), where ∂w/∂s = diag(w) - w wᵀ: (…, S) → (…)."""
    squares = weights.square()
    off_diagonal = squares.sum(-1).square() - squares.square().sum(-1)
    return ((weights * (1 - weights)).square().sum(-1) + off_diagonal.clamp_min(0)).sqrt()


def top_gap(keys: int) -> tuple[float, float]:
    """Of the gap between the two largest of n standard normal numbers: its density at 0, and its median.

    density at g = n (n-1) ∫ φ(x) φ(x-g) Φ(x-g)^(n-2) dx,  P(gap > g) = n ∫ φ(x) Φ(x-g)^(n-1) dx
    """
    x = torch.linspace(-8, 10, 20001, dtype=torch.float64)
    density = (-x.square() / 2).exp() / math.sqrt(2 * math.pi)
    below = torch.special.ndtr(x)
    at_zero = keys * (keys - 1) * torch.trapezoid(density.square() * below ** (keys - 2), x).item()
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        above = keys * torch.trapezoid(density * torch.special.ndtr(x - middle) ** (keys - 1), x).item()
        low, high = (middle, high) if above > 0.5 else (low, middle)
    return at_zero, low


def theory(keys: int, width: int) -> dict[str, float]:
    """At large d, where the two best of n keys decide: scores are normal with deviation √d, and the best leads by √d g.

    w = 1/(1 + e^(-√d g)): the mean entropy is π²/6 · ρ/√d and the mean gradient ρ/√d, with ρ the density of g at 0;
    the median gradient is 2 w (1-w) at the median g.
    """
    at_zero, median = top_gap(keys)
    lead = math.exp(-math.sqrt(width) * median)
    mean = at_zero / math.sqrt(width)
    return {ENTROPY: math.pi**2 / 6 * mean, MEAN_GRADIENT: mean, GRADIENT: 2 * lead / (1 + lead) ** 2}


def measure(width: int, seed: int, sets: int) -> dict[str, dict[str, float]]:
    """Weights of random normal queries over random normal keys, scored both ways: 64 queries for each set of keys."""
    source = torch.Generator().manual_seed(seed)
    queries, keys = (torch.randn(sets, KEYS, width, generator=source) for _ in range(2))
    measured = {}
    for name, score in SCORES.items():
        weights = weigh(score(queries, keys).double(), None)  # in float64: rounding would hide small weights
        gradient = jacobian_norm(weights)
        measured[name] = {
            ENTROPY: entropy(weights).mean().item(),
            GRADIENT: gradient.median().item(),
            MEAN_GRADIENT: gradient.mean().item(),
        }
    return measured


def run(budget: Budget) -> Finding:
    widths = budget.pick(tiny=(1, 16, 64), quick=(1, 4, 16, 64, 256, 1024, 4096), full=(1, 4, 16, 64, 256, 1024, 4096))
    sets = budget.pick(tiny=4, quick=128, full=512)
    results = {width: [measure(width, seed, sets) for seed in budget.seeds] for width in widths}
    widest, expected = widths[-1], {width: theory(KEYS, width) for width in widths}

    def at(width: int, score: str, what: str) -> list[float]:
        return [result[score][what] for result in results[width]]

    def pairs(what: str) -> list[tuple[float, float]]:
        return list(zip(at(widest, ROOTED, what), at(widest, RAW, what), strict=True))

    drift = [
        max(values) - min(values)
        for values in zip(*(at(width, ROOTED, ENTROPY) for width in widths if width >= 16), strict=True)
    ]
    off = [abs(value / expected[widest][ENTROPY] - 1) for value in at(widest, RAW, ENTROPY)]
    half = math.log(KEYS) / 2
    rows = tuple(
        (
            f"{width:,}",
            *(mean_range(at(width, score, ENTROPY), 3) for score in SCORES),
            *(f"{sum(at(width, score, GRADIENT)) / len(budget.seeds):.2g}" for score in SCORES),
        )
        for width in widths
    )
    return Finding(
        experiment=f"{sets * KEYS:,} random normal queries of width d, each over {KEYS} random normal keys ({KEYS} "
        f"queries share a set of keys): the entropy of the weights in nats (at most log {KEYS} = {math.log(KEYS):.2f}) "
        "and the Frobenius norm of ∂weights/∂scores, a factor of every gradient of queries and keys. "
        "Theory for q·k at large d: the two best keys decide.",
        tables=(
            Table(
                ("d", *(f"{what}, {score}" for what in ("mean entropy", "median gradient") for score in SCORES)), rows
            ),
        ),
        figures=(line_chart("", _panels(results, expected)),),
        verdicts=(
            margin(
                f"at d = {widest:,} the softmax of q·k is peaked: entropy lost without the root",
                [rooted - raw for rooted, raw in pairs(ENTROPY)],
                "nats",
                more_than=round(half, 2),
            ),
            margin(
                f"at d = {widest:,} the median gradient is smaller by a factor",
                [rooted / max(raw, 1e-30) for rooted, raw in pairs(GRADIENT)],
                "times",
                more_than=10,
            ),
            bound("with the root the entropy is the same from d = 16 on, to within (nats)", max(drift), 0.1),
            bound(f"at d = {widest:,} the entropy of q·k is off the theory by a share of", max(off), 0.15),
        ),
        numbers={"measured": results, "theory": expected},
    )


def _panels(
    results: dict[int, list[dict[str, dict[str, float]]]], expected: dict[int, dict[str, float]]
) -> list[Panel]:
    widths = list(results)
    panels = []
    for what, title in ((ENTROPY, "mean entropy in nats"), (GRADIENT, "median |∂weights/∂scores|")):
        lines = []
        for index, score in enumerate(SCORES):
            for seed in range(len(results[widths[0]])):
                points: Points = [(width, results[width][seed][score][what]) for width in widths]
                lines.append(Line(score, points, COLOURS[index]))
        large: Points = [(width, expected[width][what]) for width in widths if width >= 64]
        lines.append(Line("q·k, theory", large, COLOURS[8], dots=False, dashed=True))
        panels.append(Panel(f"{title}, a line for each seed", lines, x=Axis("width d", log=True), y=Axis(log=True)))
    return panels


LESSON = Lesson(
    name="scaling",
    claim="Without 1/√d the softmax over dot products is peaked at large d, and its gradient vanishes.",
    after="Vaswani et al. 2017, section 3.2.1",
    run=run,
    formula="var(q·k) = K for unit variances, so q·k/√K has variance 1",
    model=("queries and keys", "q·k, with or without 1/√K", "softmax", "its gradient"),
)
