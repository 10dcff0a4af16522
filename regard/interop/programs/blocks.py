# The residual path, and the layer at each position alone.
from collections.abc import Callable
from math import erf

import numpy as np

from regard.interop.programs.layers import Array, linear, norm

gelu = np.vectorize(lambda x: x / 2 * (1 + erf(x / 2**0.5)), otypes=[np.float32])
ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "gelu": gelu}


def residual(w: dict[str, Array], name: str, c: dict, x: Array, f: Callable[[Array], Array]) -> Array:
    """pre: x + f(norm(x));  post: norm(x + f(x));  none: x + f(x)."""
    change = f(norm(w, f"{name}.norm", x) if c["norm"] == "pre" else x)
    joined = x + change if c["residuals"] else change
    return norm(w, f"{name}.norm", joined) if c["norm"] == "post" else joined


def feed_forward(w: dict[str, Array], name: str, c: dict, x: Array) -> Array:
    """W₂ φ(W₁ x + b₁) + b₂."""
    return linear(w, f"{name}.output_proj", ACTIVATIONS[c["activation"]](linear(w, f"{name}.inner_proj", x)))
