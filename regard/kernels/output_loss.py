"""The output layer, softmax and cross entropy in one pass, a few rows at a time.

The gradient is computed in the same pass, so that the logits of a batch are never in memory all together, and padding
is not multiplied at all: docs/experiments/training-speed.md#where-the-time-of-a-step-goes
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 2**21  # logits at a time: 8 MiB, and as much for their probabilities
SMALLEST = 1e-30  # a smaller probability has no exact logarithm in float32


def linear_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, mask: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Features (B, T, E), weight (V, E), bias (V,), target and mask (B, T) → the smoothed loss of logits = features
    weightᵀ + bias, and -log p(target) without gradient; means over the real positions."""
    rows = mask.flatten().nonzero().squeeze(1)
    tokens = target.flatten().index_select(0, rows)
    return _OutputLoss.apply(features.flatten(0, 1), weight, bias, rows, tokens, smoothing)


class _OutputLoss(torch.autograd.Function):
    """∂loss/∂logits = (p - (1 - ε) onehot(y) - ε/V) / n; the gradients of x, W and b are summed chunk by chunk.
    There may be one backward only."""

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
        for chosen, tokens in zip(rows.split(step), target.unsqueeze(1).split(step), strict=True):
            inputs = features.index_select(0, chosen)
            logits = torch.addmm(bias, inputs, weight.t(), out=buffer[: len(chosen)])
            slopes = torch.softmax(logits, 1)
            nll = -_target_log_probs(slopes.gather(1, tokens), inputs, weight, bias, tokens).sum()
            plain += nll
            smoothed += nll
            if smoothing:
                beyond = logits.gather(1, tokens).squeeze(1) - (inputs @ mean_weight + mean_bias)  # its mean logit
                smoothed += smoothing * beyond.sum()
                slopes -= smoothing / size
            slopes.scatter_add_(1, tokens, slopes.new_full(tokens.shape, smoothing - 1))
            features_grad.index_copy_(0, chosen, slopes @ weight)
            weight_grad.addmm_(slopes.t(), inputs)
            bias_grad += slopes.sum(0)
        ctx.gradients, ctx.count = (features_grad, weight_grad, bias_grad), count
        plain = plain / count
        ctx.mark_non_differentiable(plain)
        return smoothed / count, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        factor = float(gradients[0]) / ctx.count
        scaled = ctx.gradients if factor == 1 else tuple(gradient * factor for gradient in ctx.gradients)
        del ctx.gradients  # with one reference left, autograd need not copy them
        return *scaled, None, None, None


def _target_log_probs(probabilities: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor) -> Tensor:
    """log p(y) of p(y) (N, 1), computed from the logits again where p(y) is too small for a float32."""
    log_probs = probabilities.log()
    (small,) = (probabilities[:, 0] < SMALLEST).nonzero(as_tuple=True)
    if len(small):
        log_probs[small] = torch.addmm(bias, inputs[small], weight.t()).log_softmax(1).gather(1, tokens[small])
    return log_probs
