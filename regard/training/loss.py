"""Cross entropy over the real target tokens, with label smoothing (Szegedy 2016, section 7).

loss = Σ_t mask_t · [ (1 - ε) · -log p_t(y_t)  +  ε/V · Σ_v -log p_t(v) ] / Σ_t mask_t,   p_t = softmax(W x_t + b)

Twice: from logits, as it is written; and from the features before the output layer, a few rows at a time with the
gradient made in the same pass, so that the logits of a batch never exist whole. Padding is never multiplied at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 2**21  # logits at a time: 8 MiB, and as much for their probabilities
TOLD = 1e-30  # a probability that a float32 holds as well as any other


@dataclass(frozen=True)
class Loss:
    """Both in nats per real target token."""

    smoothed: Tensor  # (), what is minimised
    nll: Tensor  # (), -log p(target), without smoothing and without gradient


def cross_entropy(logits: Tensor, target: Tensor, mask: Tensor, smoothing: float = 0.0) -> Loss:
    """logits (B, T, V), target (B, T), mask (B, T) with True = real. Padding adds nothing, whatever its logits are."""
    log_probs = logits.log_softmax(-1)
    nll = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    count = mask.sum()
    plain = nll.masked_fill(~mask, 0).sum() / count
    if smoothing == 0:
        return Loss(plain, plain.detach())
    spread = -log_probs.mean(-1).masked_fill(~mask, 0).sum() / count
    return Loss((1 - smoothing) * plain + smoothing * spread, plain.detach())


def output_loss(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, mask: Tensor, smoothing: float = 0.0
) -> Loss:
    """The same from features (B, T, E), weight (V, E) and bias (V,): logits = features weightᵀ + bias."""
    rows = mask.flatten().nonzero().squeeze(1)
    flat, wanted = features.flatten(0, 1), target.flatten().index_select(0, rows)
    smoothed, nll = _OutputLoss.apply(flat, weight, bias, rows, wanted, smoothing)
    return Loss(smoothed, nll)


class _OutputLoss(torch.autograd.Function):
    """∂loss/∂logits = (p - (1 - ε) onehot(y) - ε/V) / n; what it gives for x, W and b is summed chunk by chunk, and
    given away by the one backward that there may be."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, rows: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        count, size = len(rows), weight.shape[0]
        features_grad = torch.zeros_like(features)
        weight_grad, bias_grad = torch.zeros_like(weight), torch.zeros_like(bias)
        step = max(32, CHUNK // size)
        buffer = features.new_empty(min(step, count), size)
        mean_weight, mean_bias = weight.mean(0), bias.mean()
        smoothed, plain = features.new_zeros(()), features.new_zeros(())
        for chosen, wanted in zip(rows.split(step), target.unsqueeze(1).split(step), strict=True):
            inputs = features.index_select(0, chosen)
            logits = torch.addmm(bias, inputs, weight.t(), out=buffer[: len(chosen)])
            slopes = torch.softmax(logits, 1)
            nll = -_log_hit(slopes.gather(1, wanted), inputs, weight, bias, wanted).sum()
            plain += nll
            smoothed += nll
            if smoothing:
                beyond = logits.gather(1, wanted).squeeze(1) - (inputs @ mean_weight + mean_bias)  # its mean logit
                smoothed += smoothing * beyond.sum()
                slopes -= smoothing / size
            slopes.scatter_add_(1, wanted, slopes.new_full(wanted.shape, smoothing - 1))
            features_grad.index_copy_(0, chosen, slopes @ weight)
            weight_grad.addmm_(slopes.t(), inputs)
            bias_grad += slopes.sum(0)
        ctx.found, ctx.count = (features_grad, weight_grad, bias_grad), count
        plain = plain / count
        ctx.mark_non_differentiable(plain)
        return smoothed / count, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        factor = float(gradients[0]) / ctx.count
        found = ctx.found if factor == 1 else tuple(one * factor for one in ctx.found)
        del ctx.found  # who gets the last of a tensor need not copy it
        return *found, None, None, None


def _log_hit(chances: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
    """log p(y) of p(y) (N, 1), from the logits again where it is too small to be told from nought."""
    found = chances.log()
    (lost,) = (chances[:, 0] < TOLD).nonzero(as_tuple=True)
    if len(lost):
        found[lost] = torch.addmm(bias, inputs[lost], weight.t()).log_softmax(1).gather(1, wanted[lost])
    return found
