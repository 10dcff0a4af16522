"""Attention rollout: how much of each input reaches each position through all layers (Abnar & Zuidema 2020, 3).

Half of a layer's output comes from its residual path and half from its attention, averaged over heads:

    encoder            R_l = (½ A_l + ½ I) R_(l-1),  R_0 = I
    encoder-decoder    C_l = (½ A_l + ½ I) C_(l-1) with the decoder's self-attention, then
                       C_l = ½ C_l + ½ X_l R with its cross-attention X_l and the encoder's R,  C_0 = 0

Rows of R sum to 1. Rows of C sum to less: the rest came from the target tokens before.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def self_rollout(layers: Sequence[Tensor]) -> Tensor:
    """Weights (H, S, S) of each layer → R (S, S)."""
    rollout = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        rollout = _through_layer(weights, rollout)
    return rollout


def cross_rollout(layers: Sequence[tuple[Tensor, Tensor]], memory: Tensor) -> Tensor:
    """Self-attention (H, T, T) and cross-attention (H, T, S) of each layer, and R (S, S) of the encoder → C (T, S)."""
    rollout = memory.new_zeros(layers[0][1].shape[-2], memory.shape[-1])
    for self_attention, cross_attention in layers:
        rollout = _through_layer(self_attention, rollout)
        rollout = (rollout + cross_attention.mean(0) @ memory) / 2
    return rollout


def _through_layer(weights: Tensor, rollout: Tensor) -> Tensor:
    return (rollout + weights.mean(0) @ rollout) / 2
