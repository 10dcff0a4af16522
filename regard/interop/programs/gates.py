# Convolution with a gate (Dauphin 2017; Gehring 2017).
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from regard.interop.programs.layers import Array, sigmoid


def convolve(w: dict[str, Array], name: str, c: dict, x: Array, past: int) -> Array:
    """A ⊙ σ(B) of a convolution whose kernel begins `past` tokens before its output: (T, D) → (T, D)."""
    padded = np.pad(x, ((past, c["kernel"] - 1 - past), (0, 0)))
    windows = sliding_window_view(padded, c["kernel"], axis=0)  # (T, D, kernel)
    weight, bias = (w[f"{name}.convolution.{part}"] for part in ("weight", "bias"))
    a, b = np.split(np.einsum("tik,oik->to", windows, weight) + bias, 2, axis=1)
    return a * sigmoid(b)
