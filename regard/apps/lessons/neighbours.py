"""The task of several lessons: at a marked place among random letters, name its four neighbours, in their order.

A single attention map can put its weight on one neighbour, or spread it over all four and lose their order; four maps
can look at one neighbour each. So can a stack of layers with one map each, one after the other.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import ModelPlan
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.classifier import ClassifierModel
from regard.models.transformer import TransformerEncoder
from regard.nn.taps import watching

LETTERS, LENGTH, WIDTH, BATCH = 26, 20, 64, 64
OFFSETS = (-2, -1, 1, 2)  # of the neighbours
MARK = LETTERS  # added to a letter's id: the same letter, marked
RATE = 2e-3
POSITIONS = "rotary"  # relative places are learned soonest with these
MarkedLetters = tuple[Tensor, Tensor, Tensor]  # ids (B, S), the marked place (B,), its neighbours' letters (B, 4)


@dataclass(frozen=True)
class EncoderStack:
    """Layers of a Transformer encoder that is trained on the task."""

    layers: int
    heads: int
    steps: int
    seed: int
    residuals: bool = True


@dataclass(frozen=True)
class Named:
    """`curve`: neighbours named right on unseen letters, in %, by step; `weights`: of the marked place of one example,
    by layer and head over the letters; `distance`: how different the heads of the first layer are."""

    accuracy: float
    curve: list[tuple[float, float]]
    parameters: int
    distance: float
    weights: list[list[list[float]]]
    letters: str
    place: int


class Namer(nn.Module):
    """Four letters by one linear layer from the output at the marked place."""

    def __init__(self, stack: EncoderStack) -> None:
        super().__init__()
        config = ModelPlan(
            decoder="none",
            depth=stack.layers,
            heads=stack.heads,
            width=WIDTH,
            positions=POSITIONS,
            max_positions=LENGTH,
            residuals=stack.residuals,
        )
        model = fuse(build_model(config, 2 * LETTERS, len(OFFSETS) * LETTERS, False, stack.seed))
        assert isinstance(model, ClassifierModel) and isinstance(model.encoder, TransformerEncoder)
        self.encoder, self.output = model.encoder, model.output

    def forward(self, source: Tensor, place: Tensor) -> Tensor:
        """(B, S), (B,) → logits (B, 4, LETTERS)."""
        states = self.encoder(source, torch.ones_like(source, dtype=torch.bool)).states
        return self.output(states[torch.arange(len(source)), place]).unflatten(-1, (len(OFFSETS), LETTERS))


def draw(count: int, generator: torch.Generator) -> MarkedLetters:
    letters = torch.randint(LETTERS, (count, LENGTH), generator=generator)
    place = torch.randint(2, LENGTH - 2, (count,), generator=generator)
    neighbours = letters.gather(1, place[:, None] + torch.tensor(OFFSETS))
    marked = letters.scatter_add(1, place[:, None], torch.full((count, 1), MARK))
    return marked, place, neighbours


def name_neighbours(stack: EncoderStack) -> Named:
    """Train on new letters at each step; measure on others."""
    generator = torch.Generator().manual_seed(stack.seed)
    torch.manual_seed(stack.seed)
    model = Namer(stack)
    optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.98))
    unseen = draw(1000, torch.Generator().manual_seed(1000 + stack.seed))
    curve: list[tuple[float, float]] = []
    for step in range(stack.steps):
        rate = RATE * min(1.0, (step + 1) / 100, 4 * (1 - step / stack.steps))  # warm-up, and down at the end
        optimizer.param_groups[0]["lr"] = rate
        source, place, neighbours = draw(BATCH, generator)
        optimizer.zero_grad()
        F.cross_entropy(model(source, place).flatten(0, 1), neighbours.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % max(stack.steps // 10, 1) == 0:
            curve.append((step + 1, right(model, unseen)))
    weights, (letters, place) = maps(model.eval(), unseen)
    first = weights[0][torch.arange(len(place)), :, place]  # (B, H, S)
    return Named(
        accuracy=right(model, unseen),
        curve=curve,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        distance=head_distance(first[:, :, None]),
        weights=[layer[0, :, place[0]].tolist() for layer in weights],
        letters="".join(string.ascii_lowercase[letter % LETTERS] for letter in letters[0].tolist()),
        place=int(place[0]),
    )


@torch.inference_mode()
def right(model: Callable[[Tensor, Tensor], Tensor], batch: MarkedLetters) -> float:
    """Neighbours named right, in %."""
    source, place, neighbours = batch
    return 100 * (model(source, place).argmax(-1) == neighbours).float().mean().item()


def maps(model: Namer, batch: MarkedLetters) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
    """The weights (B, H, S, S) of each layer on these letters, and the letters with their marked places."""
    source, place, _ = batch
    with torch.inference_mode(), watching(model) as watch:
        model(source, place)
    return [seen for name, seen in watch.tensors().items() if name.endswith(".weights")], (source, place)


def head_distance(weights: Tensor) -> float:
    """How different heads are: ½ Σ_s |w_h(s) - w_h'(s)|, the mean over pairs of heads, rows and queries.

    weights (B, H, T, S); 0: all are alike, 1: no two of them attend to the same key.
    """
    pairs = [weights[:, first] - weights[:, second] for first, second in combinations(range(weights.shape[1]), 2)]
    return float(torch.stack(pairs).abs().sum(-1).mean() / 2) if pairs else 0.0
