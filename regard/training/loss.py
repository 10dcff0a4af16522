"""Cross entropy over the real target tokens, with label smoothing (Szegedy 2016, section 7).

loss = Σ_t mask_t · [ (1 - ε) · -log p_t(y_t)  +  ε/V · Σ_v -log p_t(v) ] / Σ_t mask_t,   p_t = softmax(W x_t + b)
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.kernels.output_loss import linear_cross_entropy


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
    """The same from features (B, T, E), weight (V, E) and bias (V,), without all logits in memory."""
    return Loss(*linear_cross_entropy(features, weight, bias, target, mask, smoothing))
