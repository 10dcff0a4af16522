"""Why layer norm: without it activations grow from layer to layer, and the softmax of attention saturates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, margin, mean_range
from regard.config import ModelPlan
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.classifier import ClassifierModel
from regard.models.transformer import Norm, TransformerEncoder
from regard.nn.masks import key_mask
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

NAMES: dict[Norm, str] = {"pre": "norm before each sublayer", "post": "norm after each", "none": "no norm"}
WIDTH, CLASSES, LENGTH, BATCH = 64, 10, 20, 8
LEAST = 1e-15  # smaller values are drawn and compared as this


@dataclass(frozen=True)
class UntrainedEncoder:
    """An untrained encoder, its input drawn from a normal distribution of this scale."""

    norm: Norm
    depth: int
    scale: float
    seed: int


@dataclass(frozen=True)
class Saturation:
    """Of the uppermost layer's attention, and of the gradient that arrives below the lowest layer."""

    size: float  # root mean square of the states that leave the stack, before its last norm
    top: float  # mean of the greatest weight of a query
    passed: float  # of the gradient at the weights, what a typical query's softmax passes on to its scores
    gradient: float  # norm at the input


At = Callable[[Norm, int, float], list[Saturation]]  # norm, depth, scale → a measurement for each seed


def passed(weights: Tensor, gradient: Tensor) -> Tensor:
    """‖(diag w - w wᵀ) g‖ / ‖g - ḡ‖ for each query: (…, S) → (…); 1/S for uniform weights, 0 for a single key."""
    through = weights * (gradient - (weights * gradient).sum(-1, keepdim=True))
    arriving = gradient - gradient.mean(-1, keepdim=True)
    return through.norm(dim=-1) / arriving.norm(dim=-1).clamp_min(1e-300)


def measure(stack: UntrainedEncoder) -> Saturation:
    """Forward and backward, in double precision: nothing vanishes by rounding."""
    config = ModelPlan(decoder="none", depth=stack.depth, norm=stack.norm, width=WIDTH, positions="none")
    model = cast(ClassifierModel, fuse(build_model(config, 1, CLASSES, False, stack.seed))).double()
    encoder = cast(TransformerEncoder, model.encoder)
    generator = torch.Generator().manual_seed(stack.seed)
    states = stack.scale * torch.randn(BATCH, LENGTH, WIDTH, generator=generator, dtype=torch.float64)
    states.requires_grad_()
    classes = torch.randint(CLASSES, (BATCH,), generator=generator)
    mask = key_mask(torch.ones(BATCH, LENGTH, dtype=torch.bool))
    with watching(encoder) as watch:
        upper = states
        for layer in encoder.layers:
            upper = layer(upper, mask)
        weights = watch.recorded[f"layers.{stack.depth - 1}.self_attention.weights"][0]
        loss = F.cross_entropy(model.output(encoder.norm(upper).mean(1)), classes)
        at_weights, at_input = torch.autograd.grad(loss, (weights, states))
    return Saturation(
        size=upper.detach().square().mean().sqrt().item(),
        top=weights.detach().amax(-1).mean().item(),
        passed=passed(weights.detach(), at_weights).median().item(),
        gradient=at_input.norm().item(),
    )


def run(budget: Budget) -> Finding:
    depths = budget.pick(tiny=(1, 2), quick=(1, 2, 4, 8, 16, 24), full=(1, 2, 4, 8, 12, 16, 24, 32, 48))
    scales = budget.pick(tiny=(1.0,), quick=(0.25, 1.0, 4.0), full=(0.25, 0.5, 1.0, 2.0, 4.0, 16.0))
    seeds = budget.seeds
    stacks = [
        UntrainedEncoder(norm, depth, scale, seed)
        for norm in NAMES
        for depth in depths
        for scale in scales
        for seed in seeds
    ]
    results = dict(zip(stacks, budget.pool.run("norm", measure, stacks), strict=True))

    def at(norm: Norm, depth: int, scale: float) -> list[Saturation]:
        return [results[UntrainedEncoder(norm, depth, scale, seed)] for seed in seeds]

    return Finding(
        experiment=f"Untrained Transformer encoders of 1 to {depths[-1]} layers (width {WIDTH}, {LENGTH} positions) "
        f"read random states of scale {', '.join(f'{scale:g}' for scale in scales)}: how much weight the last "
        "layer's attention puts on a single key, what share of a gradient its softmax passes on (median over queries), "
        "and the norm of the gradient of a classification loss at the input.",
        tables=(_table(at, depths[-1], scales),),
        figures=(_figure(at, depths),),
        verdicts=_verdicts(at("pre", depths[-1], 1.0), at("none", depths[-1], 1.0), depths[-1]),
        numbers={"stacks": [{**asdict(stack), **asdict(measured)} for stack, measured in results.items()]},
    )


def _verdicts(with_norm: list[Saturation], without: list[Saturation], depth: int) -> tuple[Verdict, ...]:
    """At the greatest depth and scale 1, seed by seed: vanishing means a tenth at most."""

    def lost(field: str) -> list[float]:
        """Powers of ten by which the value without norm is below that with norm."""
        return [
            math.log10(max(getattr(ours, field), LEAST)) - math.log10(max(getattr(theirs, field), LEAST))
            for ours, theirs in zip(with_norm, without, strict=True)
        ]

    saturated = [theirs.top - ours.top for ours, theirs in zip(with_norm, without, strict=True)]
    return (
        margin(f"without norm the softmax of layer {depth} is peaked", saturated, "of the weight more", more_than=0.25),
        margin("and passes less of its gradient on", lost("passed"), "powers of ten less", more_than=1),
        margin("so that the gradient at the input vanishes", lost("gradient"), "powers of ten less", more_than=1),
    )


def _table(at: At, depth: int, scales: tuple[float, ...]) -> Table:
    rows = []
    for scale in scales:
        for norm, name in NAMES.items():
            values = at(norm, depth, scale)
            gradients = [measured.gradient for measured in values]
            rows.append(
                (
                    f"{name}, input × {scale:g}",
                    f"{median(measured.size for measured in values):.3g}",
                    mean_range([measured.top for measured in values], 2),
                    f"{median(measured.passed for measured in values):.2g}",
                    f"{median(gradients):.2g} ({min(gradients):.2g} to {max(gradients):.2g})",
                )
            )
    titles = (f"{depth} layers", "size of states", "largest weight", "passed by softmax", "gradient at the input")
    return Table(titles, tuple(rows))


def _figure(at: At, depths: tuple[int, ...]) -> str:
    panels = (
        ("the largest weight of a query in the last layer, mean", "top", Axis(low=0, high=1.05)),
        ("share of its gradient that the softmax passes on, median query", "passed", Axis(log=True)),
        ("norm of the gradient at the input", "gradient", Axis(log=True)),
    )

    def line(norm: Norm, field: str, colour: str) -> Line:
        points = [
            (float(depth), max(mean(getattr(measured, field) for measured in at(norm, depth, 1.0)), LEAST))
            for depth in depths
        ]
        return Line(NAMES[norm], points, colour)

    return line_chart(
        "input of scale 1",
        [
            Panel(
                title,
                [line(norm, field, COLOURS[index]) for index, norm in enumerate(NAMES)],
                x=Axis("layers", low=0),
                y=axis,
            )
            for title, field, axis in panels
        ],
    )


LESSON = Lesson(
    name="norm",
    claim="Without layer norm large activations saturate the softmax, and gradients vanish.",
    after="the lectures on the Transformer; Ba, Kiros & Hinton 2016; Xiong 2020",
    run=run,
)
