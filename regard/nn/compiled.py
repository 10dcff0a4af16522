"""Loops that numba compiles (the extra [fast]) for searches on the CPU, where torch would need many calls and copies.

No row of these is waited for by another, and none holds Python's lock. Indices are not checked: they are made by the
records that keep them, and numbers that are not finite must not become one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

# Sums may be taken in any order. Infinite numbers and NaN stay what they are.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
SMALLEST = -126  # the least power of two of a float32
POWERS = np.ldexp(np.float32(1), np.arange(SMALLEST, 1)).astype(np.float32)
ONE = np.float32(1)


@njit(**OPTIONS)
def attend(
    asked: np.ndarray, store: np.ndarray, slots: np.ndarray, counts: np.ndarray, layer: int, heads: int, out: np.ndarray
) -> None:
    """softmax(q kᵀ / √K) v, for rows whose keys and values lie anywhere.

    asked (R, D or wider), keys and values in store (N, L, 2, D) → out (R, D). Row r looks at the first counts[r] of
    slots[r], (R, T).
    """
    rows, width = out.shape
    size = width // heads
    scale = np.float32(1 / math.sqrt(size))
    weights = np.empty(slots.shape[1], np.float32)
    for row in range(rows):
        count, seen = counts[row], slots[row]
        for start in range(0, width, size):
            query = asked[row, start : start + size]
            for place in range(count):
                key = store[seen[place], layer, 0, start : start + size]
                score = np.float32(0)
                for column in range(size):
                    score += query[column] * key[column]
                weights[place] = score * scale
            soften(weights[:count])
            context = out[row, start : start + size]
            context[:] = 0
            for place in range(count):
                _add(context, weights[place], store[seen[place], layer, 1, start : start + size])


@njit(**OPTIONS)
def attend_additively(
    powers: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    score: np.ndarray,
    out: np.ndarray,
) -> None:
    """Σ_i softmax_i(Σ_q s_q / (1 + p_q k_iq)) v_i: additive attention by powers e²ᵠ and e²ᵏ (regard.nn.attention).

    powers (R, Q), keys (N, Q), values (N, C), score (Q,) → out (R, C). Row r looks at the first counts[r] of slots[r].
    """
    weights = np.empty(slots.shape[1], np.float32)
    for row in range(len(out)):
        count, seen, query = counts[row], slots[row], powers[row]
        for place in range(count):
            key, total = keys[seen[place]], np.float32(0)
            for column in range(len(score)):
                total += score[column] / (ONE + query[column] * key[column])
            weights[place] = total
        soften(weights[:count])
        context = out[row]
        context[:] = 0
        for place in range(count):
            _add(context, weights[place], values[seen[place]])


@njit(**OPTIONS)
def _add(context: np.ndarray, weight: float, value: np.ndarray) -> None:
    for column in range(len(context)):
        context[column] += weight * value[column]


@njit(**OPTIONS)
def soften(scores: np.ndarray) -> None:
    """Softmax in place. e^x = 2^n e^f, f within ± ln 2 / 2, by a polynomial: what a processor does many at a time."""
    high = scores[0]
    for score in scores:
        high = max(high, score)
    total = np.float32(0)
    for place in range(len(scores)):
        below = max(scores[place] - high, np.float32(SMALLEST * math.log(2)))
        known = below if below == below else np.float32(0)  # NaN is no integer
        whole = np.int32(known * np.float32(1 / math.log(2)) - np.float32(0.5))
        rest = below - np.float32(whole) * np.float32(math.log(2))
        power = np.float32(1 / 720)
        power = power * rest + np.float32(1 / 120)
        power = power * rest + np.float32(1 / 24)
        power = power * rest + np.float32(1 / 6)
        power = power * rest + np.float32(0.5)
        power = (power * rest + ONE) * rest + ONE
        scores[place] = power * POWERS[whole - SMALLEST]
        total += scores[place]
    share = ONE / total
    for place in range(len(scores)):
        scores[place] *= share
