"""Why layer norm: without it large inputs grow from layer to layer, and every softmax saturates, the last one too.

Of the last softmax p = softmax(z), the derivative is diag p - p pᵀ: zero where p is one class alone. The squared error
‖p - y‖² passes its gradient through it, 2 (diag p - p pᵀ)(p - y), and vanishes with it. That of the cross-entropy is
p - y: there the softmax cancels out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, margin, mean_range
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
LARGE = 10.0  # times the usual scale of embeddings
LEAST = 1e-30  # smaller values are drawn and compared as this


@dataclass(frozen=True)
class UntrainedEncoder:
    """An untrained encoder, its input drawn from a normal distribution of this scale."""

    norm: Norm
    depth: int
    scale: float
    seed: int


@dataclass(frozen=True)
class Saturation:
    """Medians over examples, but for the first two."""

    size: float  # root mean square of the states that leave the stack, before its last norm
    top: float  # mean of the greatest weight of a query of the uppermost attention
    passed: float  # of the gradient at these weights, what a typical query's softmax passes on to its scores
    derivative: float  # of the last softmax, the classes': ‖diag p - p pᵀ‖
    squared: float  # norm of the gradient of the squared error at the logits, where the answer is wrong
    crossed: float  # the same of the cross-entropy


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
        logits = model.output(encoder.norm(upper).mean(1))
        (at_weights,) = torch.autograd.grad(F.cross_entropy(logits, classes), weights)
    derivative, squared, crossed = last_softmax(logits.detach())
    return Saturation(
        size=upper.detach().square().mean().sqrt().item(),
        top=weights.detach().amax(-1).mean().item(),
        passed=passed(weights.detach(), at_weights).median().item(),
        derivative=derivative.median().item(),
        squared=squared.median().item(),
        crossed=crossed.median().item(),
    )


def last_softmax(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of logits (B, C): ‖diag p - p pᵀ‖, and the norms of both losses' gradients where the least probable class is
    true."""
    p = logits.softmax(-1)
    jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]  # (B, C, C)
    missed = p - F.one_hot(p.argmin(-1), p.shape[-1])
    through = 2 * (jacobian @ missed[:, :, None]).squeeze(-1)
    return jacobian.flatten(1).norm(dim=1), through.norm(dim=1), missed.norm(dim=1)


def run(budget: Budget) -> Finding:
    depths = budget.pick(tiny=(1, 2), quick=(1, 2, 4, 8, 16, 24), full=(1, 2, 4, 8, 12, 16, 24, 32, 48))
    scales = (1.0, LARGE)
    stacks = [
        UntrainedEncoder(norm, depth, scale, seed)
        for norm in NAMES
        for depth in depths
        for scale in scales
        for seed in budget.seeds
    ]
    results = dict(zip(stacks, budget.pool.run("norm", measure, stacks), strict=True))

    def at(norm: Norm, depth: int, scale: float) -> list[Saturation]:
        return [results[UntrainedEncoder(norm, depth, scale, seed)] for seed in budget.seeds]

    deep = depths[-1]
    return Finding(
        experiment=f"Untrained Transformer encoders of 1 to {deep} layers (width {WIDTH}, {LENGTH} positions) classify "
        f"random embeddings, which are {LARGE:g} times as large as usual or not. Of the last softmax, that of the "
        f"{CLASSES} "
        "classes: how large its derivative is, and what gradient two losses send back to its logits where the answer "
        "is wrong.",
        tables=(_table(at, deep, scales),),
        figures=(_figure(at, depths),),
        verdicts=_verdicts(at("pre", deep, LARGE), at("none", deep, LARGE), deep),
        numbers={"stacks": [{**asdict(stack), **asdict(measured)} for stack, measured in results.items()]},
    )


def _verdicts(with_norm: list[Saturation], without: list[Saturation], depth: int) -> tuple[Verdict, ...]:
    """At the greatest depth and embeddings × LARGE; the worst seed decides."""

    def share(field: str) -> list[float]:
        pairs = zip(with_norm, without, strict=True)
        return [getattr(theirs, field) / max(getattr(ours, field), LEAST) for ours, theirs in pairs]

    where = f"without norm, {depth} layers, embeddings × {LARGE:g}"
    return (
        bound(f"{where}: the last softmax's derivative, as a share of that with norm", max(share("derivative")), 1e-6),
        bound("so the squared error's gradient vanishes: as a share of that with norm", max(share("squared")), 1e-6),
        margin("the cross-entropy's, p - y, does not: as a share of that with norm", share("crossed"), "times", 0.5),
    )


def _table(at: At, depth: int, scales: tuple[float, ...]) -> Table:
    rows = []
    for scale in scales:
        for norm, name in NAMES.items():
            values = at(norm, depth, scale)
            rows.append(
                (
                    f"{name}, embeddings × {scale:g}",
                    f"{median(measured.size for measured in values):.3g}",
                    mean_range([measured.top for measured in values], 2),
                    *(
                        f"{median(getattr(measured, field) for measured in values):.2g}"
                        for field in ("passed", "derivative", "squared", "crossed")
                    ),
                )
            )
    titles = (f"{depth} layers", "states", "largest weight", "passed by attention", "derivative", "squared", "p - y")
    return Table(titles, tuple(rows))


def _figure(at: At, depths: tuple[int, ...]) -> str:
    panels = (
        ("derivative of the last softmax", "derivative"),
        ("gradient of the squared error at the logits", "squared"),
        ("gradient of the cross-entropy at the logits, p - y", "crossed"),
    )

    def drawn(norm: Norm, field: str, colour: str) -> Line:
        points = [
            (float(depth), max(mean(getattr(measured, field) for measured in at(norm, depth, LARGE)), LEAST))
            for depth in depths
        ]
        return Line(NAMES[norm], points, colour)

    return line_chart(
        f"embeddings × {LARGE:g}",
        [
            Panel(
                title,
                [drawn(norm, field, COLOURS[index]) for index, norm in enumerate(NAMES)],
                x=Axis("layers", low=0),
                y=Axis(log=True),
            )
            for title, field in panels
        ],
    )


LESSON = Lesson(
    name="norm",
    claim="Without layer norm large embeddings saturate the softmax, and the gradient that passes through it vanishes.",
    after="the lectures on the Transformer; Ba, Kiros & Hinton 2016; Xiong 2020",
    run=run,
    formula="p = softmax(z)     ∂p/∂z = diag p - p pᵀ     squared: 2 (diag p - p pᵀ)(p - y)     cross-entropy: p - y",
    model=("embeddings × 10", "24 layers, with or without norm", "mean", "softmax over classes", "loss"),
)
