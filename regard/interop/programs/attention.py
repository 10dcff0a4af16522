# Attention and positions.
import math

import numpy as np

from regard.interop.programs.layers import Array, linear, softmax


def sinusoid(count: int, width: int) -> Array:
    """sin(p / 10000^(2i/D)) and cos of the same, in turn."""
    angles = np.arange(count)[:, None] * np.exp(np.arange((width + 1) // 2) * (-2 * math.log(10000) / width))
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(count, -1)[:, :width].astype(np.float32)


def rotate(x: Array) -> Array:
    """Each pair of numbers of each head (H, T, K) turned by the angle of its position."""
    pairs, angles = x[..., 0::2] + 1j * x[..., 1::2], sinusoid(x.shape[1], x.shape[2])
    turned = pairs * (angles[:, 1::2] + 1j * angles[:, 0::2])
    return np.stack((turned.real, turned.imag), -1).reshape(x.shape).astype(np.float32)


def add_positions(w: dict[str, Array], side: str, c: dict, x: Array) -> Array:
    if c["positions"] not in ("learned", "sinusoidal"):
        return x
    table = w.get(f"{side}.positions.table")
    p = sinusoid(*x.shape) if table is None else table[: len(x)]
    if c["position_combine"] == "concatenate":
        return linear(w, f"{side}.positions.resize_proj", np.concatenate((x, p), 1))
    return x * p if c["position_combine"] == "multiply" else x + p


def attend(
    w: dict[str, Array], name: str, c: dict, x: Array, states: Array, causal: bool = False, own: bool = False
) -> Array:
    """concat_h(softmax(Q_h K_hᵀ/√K) V_h) W_o; own: x and states are of one side, with its positions."""
    heads = c["heads"]
    split = lambda y: y.reshape(len(y), heads, -1).transpose(1, 0, 2)  # noqa: E731  (T, H·K) → (H, T, K)
    q, k, v = (split(linear(w, f"{name}.{p}_proj", y)) for p, y in (("query", x), ("key", states), ("value", states)))
    if own and c["positions"] == "rotary":
        q, k = rotate(q), rotate(k)
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])  # (H, T, S)
    distance = np.arange(len(states)) - np.arange(len(x))[:, None]
    if own and c["positions"] == "alibi":
        scores = scores - 2.0 ** (-8 * np.arange(1, heads + 1) / heads)[:, None, None] * abs(distance)
    if causal:
        scores = np.where(distance > 0, -np.inf, scores)
    context = softmax(scores) @ v
    return linear(w, f"{name}.output_proj", context.transpose(1, 0, 2).reshape(len(x), -1).astype(np.float32))
