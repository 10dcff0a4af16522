"""The layers around attention: the residual path with its norm, and the point-wise feed-forward layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": Tensor.tanh,
}


class Residual(nn.Module):
    """pre: x + f(norm(x));  post: norm(x + f(x));  none: x + f(x).  Dropout is applied to f's output.

    `connected`: without it the path of x ends here, f(norm(x)), norm(f(x)) or f(x): what residual connections are for
    can then be measured (He 2016).
    """

    def __init__(
        self, width: int, norm: Literal["pre", "post", "none"], dropout: float, connected: bool = True
    ) -> None:
        super().__init__()
        self.connected = connected
        self.norm_position = norm
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(width)

    def add(self, states: Tensor, change: Tensor) -> Tensor:
        """x + dropout(f(x)), or dropout(f(x)) where x is not connected."""
        return states + self.dropout(change) if self.connected else self.dropout(change)

    def before(self, states: Tensor) -> Tensor:
        """The input of the sublayer."""
        return self.norm(states) if self.norm_position == "pre" else states

    def after(self, states: Tensor, change: Tensor) -> Tensor:
        """The path with the sublayer's output joined to it."""
        joined = self.add(states, change)
        return self.norm(joined) if self.norm_position == "post" else joined


class FeedForward(nn.Module):
    """W₂ φ(W₁ x + b₁) + b₂ at each position alone, with dropout on φ's output (Vaswani 2017, 3.3)."""

    def __init__(self, width: int, ffn_width: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.inner_proj = nn.Linear(width, ffn_width)
        self.output_proj = nn.Linear(ffn_width, width)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return self.output_proj(self.dropout(self.activation(self.inner_proj(states))))
