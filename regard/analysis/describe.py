"""The modules of a model with their shapes and parameters, and the multiply-adds of a token."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from regard.config import ModelPlan
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.models.vision import Canvas
from regard.nn.attention import Additive, MultiHeadAttention, ScoredAttention
from regard.nn.embedding import Output
from regard.nn.taps import Tap


@dataclass(frozen=True)
class ModuleSummary:
    """One module: its path, class, the shapes of its own weights, and all parameters within it."""

    name: str
    kind: str
    shapes: dict[str, list[int]]
    parameters: int


@dataclass(frozen=True)
class Cost:
    """Multiply-adds of one token: `fixed`, and `per_key` for each key that is attended to."""

    fixed: int
    per_key: int


@dataclass(frozen=True)
class Description:
    title: str
    about: str
    parts: tuple[ModuleSummary, ...]
    parameters: int  # tied tables count once
    source_token: Cost  # of images: a cell
    target_token: Cost
    images: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def blueprint(config: ModelPlan, source_size: int, target_size: int, shared: bool) -> Model:
    """The model on the meta device: no memory for its weights."""
    with torch.device("meta"):
        return build_model(config, source_size, target_size, shared, seed=0)


def describe(model: Model, title: str, about: str) -> Description:
    parts = tuple(_part(name, module) for name, module in model.named_modules() if not isinstance(module, Tap))
    source_cost, target_cost = _costs(model)
    return Description(
        title=title,
        about=about,
        parts=parts,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        source_token=source_cost,
        target_token=target_cost,
        images=_canvas(model) is not None,
    )


def render(description: Description) -> str:
    """The tree as text: indentation is depth; of equal layers only the first is listed."""
    lines = [description.title, description.about, ""]
    shown: dict[str, str] = {}
    folded: list[str] = []
    for part in description.parts:
        if any(part.name.startswith(f"{name}.") or part.name == name for name in folded):
            continue
        parent, _, leaf = part.name.rpartition(".")
        if leaf.isdigit() and leaf != "0":  # a layer like the first
            folded.append(part.name)
            shown[parent] = leaf
            continue
        depth = part.name.count(".") + 1 if part.name else 0
        shapes = "  ".join(f"{name} {tuple(shape)}" for name, shape in part.shapes.items())
        label = leaf or "model"
        lines.append(
            f"{'  ' * depth}{label:<{max(2, 34 - 2 * depth)}} {part.kind:<22} {part.parameters:>11,}  {shapes}"
        )
    layers = ", ".join(f"{parent}: {int(last) + 1} layers alike" for parent, last in shown.items())
    lines += [""] + ([f"({layers}; the first is shown)"] if layers else [])
    lines.append(f"parameters: {description.parameters:,} (a tied table counts once)")
    for side in ("source", "target"):
        cost: Cost = getattr(description, f"{side}_token")
        more = f" + {cost.per_key:,} for each token attended to" if cost.per_key else ", whatever the length"
        what = "cell of the image" if side == "source" and description.images else f"{side} token"
        lines.append(f"a {what} costs {cost.fixed:,} multiply-adds{more}")
    return "\n".join(lines)


def _part(name: str, module: nn.Module) -> ModuleSummary:
    own = {key: list(parameter.shape) for key, parameter in module.named_parameters(recurse=False)}
    return ModuleSummary(name, type(module).__name__, own, sum(parameter.numel() for parameter in module.parameters()))


def _canvas(model: Model) -> Canvas | None:
    return next((module for module in model.modules() if isinstance(module, Canvas)), None)


def _grid_cost(model: Model, canvas: Canvas) -> int:
    """Multiply-adds of all convolutions over an image, for each of its cells; measured by encoding one."""
    positions: dict[nn.Module, int] = {}
    grids = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    handles = [
        module.register_forward_hook(lambda module, _, out: positions.update({module: out.shape[2] * out.shape[3]}))
        for module in grids
    ]
    device = canvas.positions.device
    pixels = torch.zeros(1, 1 + 3 * canvas.side**2, dtype=torch.uint8, device=device)
    with torch.no_grad():
        model.encode(pixels, torch.ones(1, 1, dtype=torch.bool, device=device))
    for handle in handles:
        handle.remove()
    return sum(module.weight.numel() * positions[module] for module in grids) // canvas.cells


def _costs(model: Model) -> tuple[Cost, Cost]:
    """Of a source token and of a target token. Keys and values of the memory are counted with the source."""
    fixed, per_key = {"source": 0, "target": 0}, {"source": 0, "target": 0}
    alone = not hasattr(model, "encoder")
    for name, module in model.named_modules():
        side = "source" if name.startswith("encoder") else "target"
        if isinstance(module, nn.Linear | nn.Conv1d | Output) and not name.endswith("bridge"):  # once a sentence
            cross = "cross_attention" in name or name.startswith("decoder.attention")
            of_memory = cross and name.endswith(("key_proj", "value_proj"))
            fixed["source" if of_memory else side] += module.weight.numel()
        if isinstance(module, MultiHeadAttention):
            per_key[side] += 2 * module.heads * module.head_width  # one product for the score, one for the mean
        elif isinstance(module, ScoredAttention):
            per_key[side] += 2 * module.width
        elif isinstance(module, Additive):  # scored in the width of the query, and not once but for each key
            per_key[side] += module.score_proj.in_features - module.key_proj.in_features
            fixed[side] -= module.score_proj.in_features
    canvas = _canvas(model)
    if canvas is not None:
        fixed["source"] += _grid_cost(model, canvas)
    target = Cost(fixed["target"], per_key["target"])
    if not alone:
        return Cost(fixed["source"], per_key["source"]), target
    outputs = sum(module.weight.numel() for module in model.modules() if isinstance(module, Output))
    return Cost(target.fixed - outputs, target.per_key), target  # source tokens need no logits
