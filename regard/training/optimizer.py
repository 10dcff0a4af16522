"""Adam for every parameter, or Muon for the matrices of inner layers and Adam for the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import TrainingPlan
from regard.models.seq2seq import Model
from regard.training.microbatches import trained_parameters

MOMENTUM = 0.95
ROUNDS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))
"""Of Newton and Schulz: x ← a x + b xxᵀx + c xxᵀxxᵀx, steep at first, flat near one in the end."""


class Optimizer:
    """Adam as in Vaswani 2017, section 5.3, and Muon where it is chosen; holds the moments of trained parameters."""

    def __init__(self, model: Model, training: TrainingPlan) -> None:
        """Fused Adam is the fastest on a CPU, and deterministic."""
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        self._trained = trained_parameters(model)
        inner = _inner_matrices(model) if training.optimizer == "muon" else []
        by_muon = {id(parameter) for parameter in inner}
        rest = [parameter for parameter in self._trained if id(parameter) not in by_muon]
        decay = training.weight_decay
        self._adam = torch.optim.AdamW(
            _by_decay(rest, decay), lr=training.rate, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self._muon = Muon(inner, training.muon_size, decay)

    def zero_grad(self) -> None:
        for parameter in self._trained:
            parameter.grad = None

    def step(self, rate: float) -> None:
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._muon.step(rate)
        self._adam.step()

    def moments(self) -> dict[str, Tensor]:
        """All moments, under names such as adam/exp_avg/decoder.output.bias."""
        return {
            f"{kind}/{key}/{name}": value
            for (kind, name), values in self._memories().items()
            for key, value in values.items()
        }

    def restore(self, moments: dict[str, Tensor]) -> None:
        """Put back what `moments` gave."""
        memories = self._memories()
        for key, value in moments.items():
            kind, moment, name = key.split("/", 2)
            memories[kind, name][moment] = value.clone()

    def _memories(self) -> dict[tuple[str, str], dict[str, Tensor]]:
        """The moments of each parameter, by optimizer and name."""
        by_adam = {
            ("adam", self._names[parameter]): self._adam.state[parameter]
            for group in self._adam.param_groups
            for parameter in group["params"]
        }
        by_muon = {("muon", self._names[matrix]): self._muon.state[matrix] for matrix in self._muon.parameters}
        return by_adam | by_muon


class Muon:
    """Momentum with all its singular values made one (Jordan 2024): no direction of a matrix is learned much faster
    than another. In float32, matrices of one shape at a time."""

    def __init__(self, parameters: list[Tensor], size: float, weight_decay: float) -> None:
        """`size`: root mean square of an update's entries, at a rate of 1."""
        self.parameters, self._size, self._decay = parameters, size, weight_decay
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        moving = [parameter for parameter in self.parameters if parameter.grad is not None]
        for parameters in _by_shape(moving):
            steps = orthogonal(torch.stack([self._nesterov(parameter) for parameter in parameters]))
            # the larger an orthogonal matrix, the smaller its entries
            size = self._size * max(parameters[0].shape) ** 0.5
            for parameter, step in zip(parameters, steps, strict=True):
                if self._decay:
                    parameter.mul_(1 - rate * self._decay)
                parameter.add_(step, alpha=-rate * size)

    def _nesterov(self, parameter: Tensor) -> Tensor:
        """The gradient and the momentum that it joins (Nesterov)."""
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


def _by_shape(matrices: list[Tensor]) -> list[list[Tensor]]:
    groups: dict[torch.Size, list[Tensor]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape, []).append(matrix)
    return list(groups.values())


def _inner_matrices(model: Model) -> list[Tensor]:
    """Weights of linear layers. Tables of vectors, the output layer, norms, biases and kernels are Adam's."""
    inner = [module for module in model.modules() if isinstance(module, nn.Linear) and module is not model.output_layer]
    return [layer.weight for layer in inner if layer.weight.requires_grad and min(layer.weight.shape) > 1]
