"""Cross entropy over the real target tokens, with label smoothing (Szegedy 2016, section 7)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """Both in nats per real target token."""

    smoothed: Tensor  # (), what is minimised
    nll: Tensor  # (), -log p(target), without smoothing and without gradient


def cross_entropy(logits: Tensor, target: Tensor, mask: Tensor, smoothing: float = 0.0) -> Loss:
    """loss = Σ_t mask_t · [ (1 - ε) · -log p_t(y_t)  +  ε/V · Σ_v -log p_t(v) ] / Σ_t mask_t

    logits (B, T, V), target (B, T), mask (B, T) with True = real. Padding adds nothing, whatever its logits are.
    """
    log_probs = logits.log_softmax(-1)
    nll = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    count = mask.sum()
    plain = nll.masked_fill(~mask, 0).sum() / count
    if smoothing == 0:
        return Loss(plain, plain.detach())
    spread = -log_probs.mean(-1).masked_fill(~mask, 0).sum() / count
    return Loss((1 - smoothing) * plain + smoothing * spread, plain.detach())
