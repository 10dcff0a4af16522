"""The causal mask: weights on the future are zero, and so is every gradient from it, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, bound, margin
from regard.config import plan_model, settle
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.nn.masks import causal_mask
from regard.nn.taps import Watch, watching
from regard.plotting import HeatMap, heat_map

MODELS = ("transformer", "transformer-language", "convolution")
LETTERS, BATCH, WIDTH, DEPTH = 30, 2, 32, 2
UNMASKED = "without the mask"


@dataclass(frozen=True)
class Reach:
    """What one output depends on. `weight` is the largest on a future key; None: there is no such key."""

    model: str
    output: str
    weight: float | None
    future: float  # the largest gradient from a later token
    past: float  # the largest from the token itself and earlier ones

    @property
    def seen(self) -> float:
        """How much of the future is seen, as a share of the past."""
        return self.future / self.past

    @property
    def row(self) -> tuple[str, ...]:
        weight = "" if self.weight is None else f"{self.weight:.3g}"
        return self.model, self.output, weight, f"{self.future:.3g}", f"{self.past:.3g}"


def influence(outputs: Tensor, inputs: Tensor) -> Tensor:
    """|∂ output_t / ∂ input_j| along a random direction of the outputs: (…, T, ·) on axis 1, (B, J, D) → (T, J).

    The direction is random because weights sum to one: their plain sum has no gradient at all.
    """
    direction = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(0))
    rows = []
    for step in range(outputs.shape[1]):
        wanted = torch.zeros_like(outputs)
        wanted[:, step] = direction[:, step]
        (gradient,) = torch.autograd.grad(outputs, inputs, wanted, retain_graph=True)
        rows.append(gradient.square().sum((0, 2)).sqrt())
    return torch.stack(rows)


def in_future(matrix: Tensor) -> Tensor:
    """Which cells (T, J) are in the future; the queries are the last T of J positions."""
    return ~causal_mask(matrix.shape[-2], matrix.shape[-1])


def largest(matrix: Tensor, where: Tensor) -> float:
    return matrix.masked_fill(~where, 0).abs().max().item()


def reach(model: str, output: str, outputs: Tensor, inputs: Tensor, weight: float | None = None) -> Reach:
    matrix = influence(outputs, inputs)
    return Reach(model, output, weight, largest(matrix, in_future(matrix)), largest(matrix, ~in_future(matrix)))


@contextmanager
def captured_outputs(embedding: nn.Module) -> Iterator[list[Tensor]]:
    """The outputs of an embedding while the block runs."""
    captured: list[Tensor] = []
    handle = embedding.register_forward_hook(lambda module, inputs, vectors: captured.append(vectors))
    try:
        yield captured
    finally:
        handle.remove()


def teacher_forced(model: Model, target: Tensor) -> tuple[Tensor, Tensor]:
    """A forward pass over padded sources: logits (B, T, V) and the target embeddings (B, T, D) that they depend on."""
    source = target.flip(1)[:, 2:]
    real = torch.ones_like(source, dtype=torch.bool)
    real[0, -2:] = False
    memory = model.encode(source, real)
    with captured_outputs(model.get_submodule("decoder.embedding")) as captured:
        logits, _ = model.step(target, memory, model.start(memory))
    return logits, captured[0]


def uniform(weights: Tensor) -> Tensor:
    return torch.full_like(weights, 1 / weights.shape[-1])


def measure(preset: str, seed: int, length: int) -> tuple[list[Reach], Reach, dict[str, Tensor]]:
    """The decoder's attentions and its logits, with open and with fused attention; the control; matrices to draw."""
    tree = {"model": {"preset": preset, "width": WIDTH, "depth": DEPTH, "heads": 2}}
    model = fuse(build_model(plan_model(settle(tree).model), LETTERS, LETTERS, True, seed))
    target = torch.randint(4, LETTERS, (BATCH, length), generator=torch.Generator().manual_seed(seed))
    with watching(model) as watch:
        logits, inputs = teacher_forced(model, target)
    reaches = [
        reach(preset, name, weights.transpose(1, 2), inputs, weight) for name, weights, weight in attentions(watch)
    ]
    reaches.append(reach(preset, "logits", logits, inputs))
    fused, fused_inputs = teacher_forced(model, target)
    reaches.append(reach(preset, "logits, fused kernel", fused, fused_inputs))
    control, matrix = without_mask(preset, model, target)
    return reaches, control, {"with the mask": influence(logits, inputs), "without": matrix}


def attentions(watch: Watch) -> Iterator[tuple[str, Tensor, float | None]]:
    """Of each attention of the decoder: its name, its weights (B, H, T, S), the largest on a later key of its own row.

    A language model encodes its source with the same layers; those weights count, too.
    """
    for name, pieces in watch.recorded.items():
        if name.startswith("decoder.") and name.endswith(".weights"):
            future_weight = (
                max(largest(piece, in_future(piece)) for piece in pieces) if "self_attention" in name else None
            )
            yield name.removesuffix(".weights"), pieces[-1], future_weight


def without_mask(preset: str, model: Model, target: Tensor) -> tuple[Reach, Tensor]:
    """The control: the same measurement without a mask.

    Self-attention of the decoder is made uniform over all positions; a convolution's encoder is centred as it is.
    """
    if preset == "convolution":
        with captured_outputs(model.get_submodule("encoder.embedding")) as captured:
            states = model.encode(target, torch.ones_like(target, dtype=torch.bool)).states
        return reach(preset, "encoder, centred kernel", states, captured[0]), influence(states, captured[0])
    names = [name for name, _ in model.named_modules() if name.startswith("decoder.") and "self_attention" in name]
    replace = {name: uniform for name in names if name.endswith(".weights")}
    with watching(model, replace):
        logits, inputs = teacher_forced(model, target)
    return reach(preset, f"logits, {UNMASKED}", logits, inputs), influence(logits, inputs)


def run(budget: Budget) -> Finding:
    length = budget.pick(tiny=5, quick=12, full=40)
    measurements = {(preset, seed): measure(preset, seed, length) for preset in MODELS for seed in budget.seeds}
    all_reaches = [entry for reaches, _, _ in measurements.values() for entry in reaches]
    controls = [control for _, control, _ in measurements.values()]
    weights = [entry.weight for entry in all_reaches if entry.weight is not None]
    shown = measurements[MODELS[0], budget.seeds[0]][2]
    titles = ("model", "output", "weight on the future", "gradient from the future", "from the past")
    first = [measurements[preset, budget.seeds[0]] for preset in MODELS]
    return Finding(
        experiment=f"Untrained models of {DEPTH} layers read a padded batch of {BATCH} sources and targets of {length} "
        "tokens. For every attention of the decoder: its largest weight on a later position, and the largest gradient "
        "that its weights at position t get from the embedding of a later token; the same for the logits, with open "
        "and with fused attention. Controls without a mask show that the measurement can see the future. The "
        "table shows the first seed, the figure the gradient of the logits (rows) by each input (columns), shaded by "
        "its square root.",
        tables=(Table(titles, tuple(entry.row for reaches, control, _ in first for entry in (*reaches, control))),),
        figures=tuple(_figure(f"{MODELS[0]}, gradient of the logits, {name}", entry) for name, entry in shown.items()),
        verdicts=(
            bound(f"the largest of {len(weights)} self-attentions' weights on the future", max(weights), 0.0),
            bound(
                f"the largest gradient from the future, of {len(all_reaches)} outputs",
                max(entry.future for entry in all_reaches),
                0.0,
            ),
            margin(
                "without the mask the future is seen: gradient from it over that from the past",
                [min(measurements[preset, seed][1].seen for preset in MODELS) for seed in budget.seeds],
                "times",
                more_than=0.01,
            ),
        ),
        numbers={"outputs": [entry.row for entry in all_reaches], "controls": [entry.row for entry in controls]},
    )


def _figure(title: str, matrix: Tensor) -> str:
    labels = tuple(str(position) for position in range(1, matrix.shape[1] + 1))
    return heat_map(HeatMap(title, [(matrix / matrix.max()).sqrt().tolist()], labels, labels))


LESSON = Lesson(
    name="mask",
    claim="With the causal mask weights on the future are exactly zero, and no gradient reaches back from it.",
    after="Vaswani et al. 2017, section 3.2.3",
    run=run,
    formula="weights = softmax(Q Kᵀ/√K + mask), mask = -∞ where j > i",
    model=("tokens", "embeddings", "masked self-attention", "the next token"),
)
