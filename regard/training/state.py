"""Everything that training carries from one step to the next, as named tensors and a small record of numbers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from regard.config import TrainingPlan
from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.training.optimizer import Optimizer
from regard.weights import Weights, clone_weights, load_weights, weights_of

KINDS = ("adam/", "muon/")  # of moments


@dataclass
class TrainingProgress:
    """Where training stands. The order of batches is a pure function of (seed, epoch), so this is all of it."""

    step: int = 0  # updates made
    epoch: int = 0  # completed
    index: int = 0  # batches of this epoch already used
    tokens: int = 0  # real target tokens seen
    seconds: float = 0.0  # of training, before resuming included
    stale: int = 0  # validations since the last improvement
    best: dict[str, float] | None = None  # development results of the best weights
    best_step: int = 0
    ended: str | None = None  # which limit was reached
    rate_factor: float = 1.0  # of the learning rate: halved after each divergence


@dataclass
class TrainingState:
    """The model, the optimizer's moments, the best weights so far and those of the latest validations."""

    model: Model
    optimizer: Optimizer
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    best: Weights | None = None
    recent: deque[Weights] = field(default_factory=deque)  # of the last `training.average` validations

    def averaged(self) -> Weights | None:
        """The mean of the weights of the latest validations, summed in double so that the order has no effect."""
        if not self.recent:
            return None
        return {
            name: torch.stack([weights[name].double() for weights in self.recent]).mean(0).to(tensor.dtype)
            if tensor.is_floating_point()
            else tensor
            for name, tensor in self.recent[-1].items()
        }

    def tensors(self) -> Weights:
        """All tensors under names that say what they are: last/…, best/…, recent/0/…, adam/exp_avg/…"""
        groups = {"last": weights_of(self.model), "best": self.best or {}}
        groups |= {f"recent/{i}": weights for i, weights in enumerate(self.recent)}
        named = {f"{group}/{name}": tensor for group, weights in groups.items() for name, tensor in weights.items()}
        return named | self.optimizer.moments()


def new_state(model: Model, training: TrainingPlan) -> TrainingState:
    """Before the first step."""
    return TrainingState(model, Optimizer(model, training), recent=deque(maxlen=training.average))


def restore(state: TrainingState, tensors: Weights, numbers: dict[str, Any], where: str) -> None:
    """Put back what `tensors` and `numbers` gave, into a new state of the same model; `where` is named in errors."""
    groups: dict[str, Weights] = {}
    for key, tensor in tensors.items():
        group, name = key.rsplit("/", 1)
        groups.setdefault(group, {})[name] = tensor
    load_weights(state.model, groups.get("last", {}), where)
    try:
        state.progress = TrainingProgress(**numbers)
        state.optimizer.restore({key: tensor for key, tensor in tensors.items() if key.startswith(KINDS)})
    except (TypeError, KeyError):  # a KeyError: moments of another optimizer
        raise UserError(f"{where}: the training state is damaged; train again into another directory") from None
    state.best = clone_weights(groups["best"]) if "best" in groups else None
    state.recent.clear()
    for i in range(sum(group.startswith("recent/") for group in groups)):
        state.recent.append(clone_weights(groups[f"recent/{i}"]))
