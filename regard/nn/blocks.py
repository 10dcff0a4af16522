"""What stands around attention: the residual path with its norm, and the point-wise feed-forward layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.dropout import add_dropped, dropout

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
    """W₂ φ(W₁ x + b₁) + b₂ at each position alone (Vaswani 2017, 3.3)."""

    def __init__(self, width: int, ffn_width: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.inner_proj = nn.Linear(width, ffn_width)
        self.output_proj = nn.Linear(ffn_width, width)
        self.activation = ACTIVATIONS[activation]
        self.dropout = dropout

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        hidden = self.activation(self.inner_proj(states))
        return self.output_proj(dropout(hidden, self.dropout, self.training))
