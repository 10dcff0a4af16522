# Layers in NumPy. w: the weights by name; name: of a layer; c: config.json. Rows are tokens: (T, D).
import math

import numpy as np

Array = np.ndarray


def linear(w: dict[str, Array], name: str, x: Array) -> Array:
    """x Wᵀ + b; without such weights x itself."""
    if f"{name}.weight" not in w:
        return x
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def norm(w: dict[str, Array], name: str, x: Array) -> Array:
    """(x - mean) / √(variance + ε) · weight + bias; without such weights x itself."""
    if f"{name}.weight" not in w:
        return x
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def embed(w: dict[str, Array], name: str, ids: list[int]) -> Array:
    """√D · table[id]."""
    table = w[f"{name}.weight"]
    return table[ids] * np.float32(math.sqrt(table.shape[1]))
