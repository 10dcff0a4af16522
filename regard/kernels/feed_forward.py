"""The feed-forward layer with relu as one node of the graph.

What lies between its two products is computed in place, and only what remains of the hidden values is saved: with
dropout a third of the memory, in the same time: docs/experiments/training-speed.md#what-each-fused-layer-saves
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.kernels.dropout import keep_mask
from regard.nn.blocks import FeedForward


class FusedFeedForward(FeedForward):
    """Where gradients are needed and φ is relu; otherwise the plain layer."""

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if self.activation is not F.relu or not torch.is_grad_enabled():
            return super().forward(states)
        inner, output = self.inner_proj, self.output_proj
        probability = self.dropout.p if self.training else 0.0
        return _FeedForward.apply(states, inner.weight, inner.bias, output.weight, output.bias, probability)


class _FeedForward(torch.autograd.Function):
    """Dropout's scale is applied after the second product, to fewer numbers."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, inner: Tensor, inner_bias: Tensor, output: Tensor, bias: Tensor, probability: float
    ) -> Tensor:
        flat = states.reshape(-1, states.shape[-1])
        hidden, scale = torch.addmm(inner_bias, flat, inner.t()).relu_(), 1.0
        if probability:
            kept, scale = keep_mask(hidden, probability)
            hidden.mul_(kept)
        ctx.save_for_backward(flat, hidden, inner, output)
        ctx.scale = scale
        return torch.addmm(bias, hidden, output.t(), alpha=scale).view(states.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        flat, hidden, inner, output = ctx.saved_tensors
        given = gradients[0].reshape(flat.shape)
        scaled = given if ctx.scale == 1 else given * ctx.scale
        changes = scaled @ output
        torch.ops.aten.threshold_backward.grad_input(changes, hidden, 0, grad_input=changes)  # zero where relu is
        needed = ctx.needs_input_grad
        return (
            (changes @ inner).view(gradients[0].shape) if needed[0] else None,
            changes.t() @ flat if needed[1] else None,
            changes.sum(0) if needed[2] else None,
            scaled.t() @ hidden if needed[3] else None,
            given.sum(0) if needed[4] else None,
            None,
        )
