"""What stands around attention: the residual path with its norm, and the point-wise feed-forward layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.kernels.dropout import add_dropped, decisions, dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "tanh": Tensor.tanh}


class Residual(nn.Module):
    """pre: x + f(norm(x));  post: norm(x + f(x));  none: x + f(x).  Dropout stands on f's output."""

    def __init__(self, width: int, norm: Literal["pre", "post", "none"], dropout: float) -> None:
        super().__init__()
        self.place = norm
        self.dropout = dropout
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(width)

    def before(self, states: Tensor) -> Tensor:
        """What the sublayer reads."""
        return self.norm(states) if self.place == "pre" else states

    def after(self, states: Tensor, change: Tensor) -> Tensor:
        """The path with the sublayer's output joined to it."""
        joined = add_dropped(states, change, self.dropout, self.training)
        return self.norm(joined) if self.place == "post" else joined


class FeedForward(nn.Module):
    """W₂ φ(W₁ x + b₁) + b₂ at each position alone (Vaswani 2017, 3.3).

    Where gradients are asked for and φ is relu, the weights are taken from the two layers, which are not called.
    """

    def __init__(self, width: int, ffn_width: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.inner_proj = nn.Linear(width, ffn_width)
        self.output_proj = nn.Linear(ffn_width, width)
        self.activation = ACTIVATIONS[activation]
        self.dropout = dropout

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        if self.activation is F.relu and torch.is_grad_enabled():
            dropped = self.dropout if self.training else 0.0
            inner, output = self.inner_proj, self.output_proj
            return _FeedForward.apply(states, inner.weight, inner.bias, output.weight, output.bias, dropped)
        hidden = self.activation(self.inner_proj(states))
        return self.output_proj(dropout(hidden, self.dropout, self.training))


class _FeedForward(torch.autograd.Function):
    """The layer with φ = relu as one node: what is between its products is done in place, and only what is kept of the
    hidden values is remembered. Dropout's scale stands behind the second product, where there is less of it."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, inner: Tensor, inner_bias: Tensor, output: Tensor, bias: Tensor, probability: float
    ) -> Tensor:
        flat = states.reshape(-1, states.shape[-1])
        hidden, scale = torch.addmm(inner_bias, flat, inner.t()).relu_(), 1.0
        if probability:
            kept, scale = decisions(hidden, probability)
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
        torch.ops.aten.threshold_backward.grad_input(changes, hidden, 0, grad_input=changes)  # nought where relu is
        needed = ctx.needs_input_grad
        return (
            (changes @ inner).view(gradients[0].shape) if needed[0] else None,
            changes.t() @ flat if needed[1] else None,
            changes.sum(0) if needed[2] else None,
            scaled.t() @ hidden if needed[3] else None,
            given.sum(0) if needed[4] else None,
            None,
        )
