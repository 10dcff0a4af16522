"""The one place that says what masks mean: boolean, True = may attend, shaped to broadcast over (B, H, T, S).

Every row allows at least one key: a source ends with a real token and a causal row sees itself. A row with no key would
be NaN in an explicit softmax.
"""

from __future__ import annotations

import torch
from torch import Tensor


def key_mask(real: Tensor) -> Tensor:
    """Every query may attend to every real key: (B, S) → (B, 1, 1, S)."""
    return real[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """The last `queries` of `keys` positions, each attending to itself and what came before: (T, S)."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
