"""What makes a step of gradients: Adam for every parameter, or Muon for the matrices inside and Adam for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import Tensor, nn

from regard.config import TrainingConfig
from regard.models.seq2seq import Model

MOMENTUM = 0.95
SIZE = 0.3  # of the steps of runs that were begun before it was a setting
ROUNDS = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))
"""Of Newton and Schulz: x ← a x + b xxᵀx + c xxᵀxxᵀx, steep at first, flat near one in the end."""


class Optimizer:
    """Holds the moments of the parameters that are trained."""

    def __init__(self, model: Model, training: TrainingConfig) -> None:
        """Adam as in Vaswani 2017, section 5.3; fused is the fastest on a CPU, and deterministic."""
        assert training.rate is not None, "complete the configuration first"
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        inner = _inner_matrices(model) if training.optimizer == "muon" else []
        taken = {id(parameter) for parameter in inner}
        rest = [parameter for parameter in trained if id(parameter) not in taken]
        decay = training.weight_decay
        adam = torch.optim.AdamW(rest, training.rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=decay, fused=True)
        self._kinds: dict[str, torch.optim.Optimizer] = {"adam": adam}
        if inner:
            self._kinds["muon"] = Muon(inner, training.rate, training.muon_size or SIZE, decay, training.processes or 1)

    def zero_grad(self) -> None:
        for optimizer in self._kinds.values():
            optimizer.zero_grad()

    def step(self, rate: float) -> None:
        for optimizer in self._kinds.values():
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()

    def moments(self) -> dict[str, Tensor]:
        """All it remembers, under names such as adam/exp_avg/decoder.output.bias."""
        return {
            f"{kind}/{key}/{self._names[parameter]}": value
            for kind, optimizer in self._kinds.items()
            for parameter, values in optimizer.state.items()
            for key, value in values.items()
        }

    def restore(self, moments: dict[str, Tensor]) -> None:
        """Put back what `moments` gave."""
        parameters = {name: parameter for parameter, name in self._names.items()}
        for place, value in moments.items():
            kind, key, name = place.split("/", 2)
            self._kinds[kind].state[parameters[name]][key] = value.clone()


class Muon(torch.optim.Optimizer):
    """Momentum with all its singular values made one (Jordan 2024): no direction of a matrix is learned much faster
    than another. In float32, matrices of one shape at a time; where processes share the training, as many threads share
    them out, for the others wait."""

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, size: float, weight_decay: float, workers: int = 1
    ) -> None:
        """`size`: root mean square of an update's entries, at a rate of 1."""
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})
        self._size, self._workers = size, workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyrefly: ignore[bad-override]
        for group in self.param_groups:
            moving = [parameter for parameter in group["params"] if parameter.grad is not None]
            change = partial(self._change, rate=group["lr"], decay=group["weight_decay"])
            shares = _alike(moving, self._workers)
            for _ in map(change, shares) if self._pool is None else self._pool.map(change, shares):
                pass

    @torch.no_grad()  # each thread has a mode of its own
    def _change(self, parameters: list[Tensor], rate: float, decay: float) -> None:
        """Move parameters of one shape."""
        steps = orthogonal(torch.stack([self._ahead(parameter) for parameter in parameters]))
        size = self._size * max(parameters[0].shape) ** 0.5  # the larger an orthogonal matrix, the smaller its entries
        for parameter, step in zip(parameters, steps, strict=True):
            if decay:
                parameter.mul_(1 - rate * decay)
            parameter.add_(step, alpha=-rate * size)

    def _ahead(self, parameter: Tensor) -> Tensor:
        """The gradient and the momentum that it joins, as Nesterov has it."""
        assert parameter.grad is not None
        memory = self.state[parameter]
        if "momentum" not in memory:
            memory["momentum"] = torch.zeros_like(parameter)
        momentum = memory["momentum"].lerp_(parameter.grad, 1 - MOMENTUM)
        return torch.lerp(parameter.grad, momentum, MOMENTUM)


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
