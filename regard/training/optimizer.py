"""What makes a step of gradients: Adam for every parameter, or Muon for the matrices inside and Adam for the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import TrainingPlan
from regard.models.seq2seq import Model
from regard.threads import ThreadPool
from regard.training.microbatches import at_once, threads_each, trained

MOMENTUM = 0.95
ROUNDS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))
"""Of Newton and Schulz: x ← a x + b xxᵀx + c xxᵀxxᵀx, steep at first, flat near one in the end."""


class Optimizer:
    """Holds the moments of the parameters that are trained; `hands` make its steps."""

    def __init__(self, model: Model, training: TrainingPlan) -> None:
        """Adam as in Vaswani 2017, section 5.3; fused is the fastest on a CPU, and deterministic."""
        self.hands = ThreadPool(at_once(training), threads_each(training))
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        self._trained = trained(model)
        inner = _inner_matrices(model) if training.optimizer == "muon" else []
        taken = {id(parameter) for parameter in inner}
        rest = [parameter for parameter in self._trained if id(parameter) not in taken]
        adam = partial(torch.optim.AdamW, lr=training.rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
        shares = [[rest[place] for place in share] for share in self.hands.partition(rest)]
        decay = training.weight_decay
        self._adams = [adam(_by_decay(share, decay)) for share in shares]
        self._muon = Muon(inner, training.muon_size, decay)

    def zero_grad(self) -> None:
        for parameter in self._trained:
            parameter.grad = None

    def step(self, rate: float) -> None:
        for adam in self._adams:
            for group in adam.param_groups:
                group["lr"] = rate
        self.hands.run([*self._muon.works(rate, self.hands.workers), *(adam.step for adam in self._adams)])

    def moments(self) -> dict[str, Tensor]:
        """All it remembers, under names such as adam/exp_avg/decoder.output.bias."""
        return {
            f"{kind}/{key}/{name}": value
            for (kind, name), values in self._memories().items()
            for key, value in values.items()
        }

    def restore(self, moments: dict[str, Tensor]) -> None:
        """Put back what `moments` gave."""
        memories = self._memories()
        for place, value in moments.items():
            kind, key, name = place.split("/", 2)
            memories[kind, name][key] = value.clone()

    def _memories(self) -> dict[tuple[str, str], dict[str, Tensor]]:
        """What is remembered of each parameter, by who moves it and its name."""
        by_adam = {
            ("adam", self._names[parameter]): adam.state[parameter]
            for adam in self._adams
            for group in adam.param_groups
            for parameter in group["params"]
        }
        return by_adam | {("muon", self._names[one]): self._muon.state[one] for one in self._muon.parameters}


class Muon:
    """Momentum with all its singular values made one (Jordan 2024): no direction of a matrix is learned much faster
    than another. In float32, matrices of one shape at a time."""

    def __init__(self, parameters: list[Tensor], size: float, weight_decay: float) -> None:
        """`size`: root mean square of an update's entries, at a rate of 1."""
        self.parameters, self._size, self._decay = parameters, size, weight_decay
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)

    def works(self, rate: float, shares: int) -> list[Callable[[], None]]:
        """A step, in pieces that do not depend on one another."""
        moving = [parameter for parameter in self.parameters if parameter.grad is not None]
        return [partial(self._change, share, rate) for share in _alike(moving, shares)]

    @torch.no_grad()  # each thread has a mode of its own
    def _change(self, parameters: list[Tensor], rate: float) -> None:
        """Move parameters of one shape."""
        steps = orthogonal(torch.stack([self._ahead(parameter) for parameter in parameters]))
        size = self._size * max(parameters[0].shape) ** 0.5  # the larger an orthogonal matrix, the smaller its entries
        for parameter, step in zip(parameters, steps, strict=True):
            if self._decay:
                parameter.mul_(1 - rate * self._decay)
            parameter.add_(step, alpha=-rate * size)

    def _ahead(self, parameter: Tensor) -> Tensor:
        """The gradient and the momentum that it joins, as Nesterov has it."""
        assert parameter.grad is not None
        memory = self.state[parameter]
        if "momentum" not in memory:
            memory["momentum"] = torch.zeros_like(parameter)
        momentum = memory["momentum"].lerp_(parameter.grad, 1 - MOMENTUM)
        return torch.lerp(parameter.grad, momentum, MOMENTUM)


def _by_decay(parameters: Sequence[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Matrices, tables and kernels shrink; norms and biases, which set a scale or a level, do not."""
    sides: dict[float, list[Tensor]] = {}
    for parameter in parameters:
        sides.setdefault(weight_decay if parameter.ndim > 1 else 0.0, []).append(parameter)
    return [{"params": side, "weight_decay": decay} for decay, side in sides.items()]


def orthogonal(matrices: Tensor) -> Tensor:
    """(N, rows, columns): about the nearest matrices whose singular values are all one."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    x = matrices / torch.linalg.matrix_norm(matrices, keepdim=True).clamp_min(1e-12)
    for a, b, c in ROUNDS:
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x


def _alike(matrices: list[Tensor], shares: int) -> list[list[Tensor]]:
    """Matrices of one shape together, each such group in so many shares of about one size."""
    groups: dict[torch.Size, list[Tensor]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape, []).append(matrix)
    return [group[first::shares] for group in groups.values() for first in range(min(shares, len(group)))]


def _inner_matrices(model: Model) -> list[Tensor]:
    """Weights of linear layers. Tables of vectors, the output layer, norms, biases and kernels are Adam's."""
    inner = [module for module in model.modules() if isinstance(module, nn.Linear) and module is not model.output_layer]
    return [one.weight for one in inner if one.weight.requires_grad and min(one.weight.shape) > 1]
