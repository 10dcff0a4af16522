"""Gradients between backward and step: those of other ranks are added, and all together are clipped.

Where several processes share an update, the first does this alone while the others wait. The memory that it goes
through is that of the whole model, several times over, so its threads share that out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from regard.threads import ThreadPool


def add_gradients(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None], hands: ThreadPool) -> None:
    """Add those of another rank to the parameters' own."""
    pairs = [
        (parameter.grad, gradient)
        for parameter, gradient in zip(parameters, gradients, strict=True)
        if parameter.grad is not None and gradient is not None
    ]
    shares = hands.partition([own for own, _ in pairs])
    hands.run(partial(_add, [pairs[place] for place in share]) for share in shares)


def clip_gradients(parameters: Iterable[nn.Parameter], limit: float, hands: ThreadPool, count: int = 1) -> float:
    """Gradients of a sum over `count` become those of the mean, together no longer than `limit`; how long they were.

    As `torch.nn.utils.clip_grad_norm_`, and to the bit where there is nothing to divide.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return 0.0
    places = hands.partition(gradients)
    shares = [[gradients[place] for place in share] for share in places]
    found = zip(places, hands.run(partial(_norms, share) for share in shares), strict=True)
    norms = {place: norm for share, own in found for place, norm in zip(share, own, strict=True)}
    norm = torch.linalg.vector_norm(torch.stack([norms[place] for place in range(len(gradients))])) / count
    factor = float((limit / (norm + 1e-6)).clamp(max=1.0) / count)
    if factor != 1:
        hands.run(partial(_scale, share, factor) for share in shares)
    return float(norm)


@torch.no_grad()  # a mode of each thread
def _add(pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    for own, other in pairs:
        own += other


@torch.no_grad()
def _norms(gradients: Sequence[Tensor]) -> list[Tensor]:
    return [torch.linalg.vector_norm(one) for one in gradients]


@torch.no_grad()
def _scale(gradients: Sequence[Tensor], factor: float) -> None:
    for one in gradients:
        one *= factor
