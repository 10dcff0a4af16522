"""The most probable continuations of all hypotheses of a sentence.

Twice: by sorting the best of each hypothesis; and for many numbers on the CPU by a threshold that enough continuations
reach, so that one comparison discards all others, in half of the time
(docs/experiments/decoding-speed.md#mkl-and-onednn-on-amd-with-avx-512).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

MANY = 2**15  # log-probabilities from which on a threshold is faster
CROWD = 64  # times as many as needed: where more reach the threshold, sorting is faster


class Continuations(NamedTuple):
    """The best of each sentence, best first: (B, C)."""

    total: np.ndarray  # log-probability of the whole hypothesis
    token: np.ndarray
    last: np.ndarray  # log-probability of the token alone
    parent: np.ndarray  # which of the sentence's hypotheses goes on


def continuations(total: np.ndarray, log_probs: Tensor, count: int) -> Continuations:
    """Of hypotheses with these totals (B, W), -inf where there is none, and log-probabilities (B·W, V) of what comes
    next: the best `count` of each sentence, or all where there are fewer."""
    if log_probs.device.type == "cpu" and log_probs.numel() >= MANY and log_probs.shape[1] >= 4 * count:
        best = _above_threshold(total, log_probs.numpy(), count)
        if best is not None:
            return best
    return _sorted(total, log_probs, count)


def _sorted(total: np.ndarray, log_probs: Tensor, count: int) -> Continuations:
    """The best of a sentence are among the best of each hypothesis."""
    size, most = len(total), min(count, log_probs.shape[1])
    likely, tokens = (tensor.cpu().numpy().reshape(size, -1) for tensor in log_probs.topk(most, dim=-1))  # (B, W·C)
    continued = np.repeat(total, most, axis=1) + likely
    rows, index = np.arange(size)[:, None], np.argsort(-continued, axis=1, kind="stable")[:, :count]
    return Continuations(continued[rows, index], tokens[rows, index], likely[rows, index], index // most)


def _above_threshold(total: np.ndarray, log_probs: np.ndarray, count: int) -> Continuations | None:
    """The threshold of a sentence is the count-th best of the maxima of blocks of tokens. None for NaN, and where too
    many reach it: of a model that is sure of one token and finds all others alike, the threshold is among these."""
    (size, width), vocabulary = total.shape, log_probs.shape[1]
    blocks = 2 * count  # of each hypothesis: it may be the only one whose continuations count
    length = vocabulary // blocks  # the remainder has no maximum, but is compared
    maxima = log_probs[:, : blocks * length].reshape(size, width, blocks, length).max(3) + total[:, :, None]
    threshold = np.partition(maxima.reshape(size, -1), -count, axis=1)[:, -count, None]  # (B, 1)
    with np.errstate(invalid="ignore"):  # -inf - -inf: no hypothesis, no continuation
        needed = threshold - total - 1e-6 * (1 + np.abs(threshold) + np.abs(total))  # sums are rounded
    reached = np.flatnonzero(log_probs >= needed.reshape(-1, 1))
    if len(reached) > CROWD * size * count:
        return None
    row, token = np.divmod(reached, vocabulary)
    sentence, last = row // width, log_probs.ravel()[reached]
    continued = total.ravel()[row] + last
    order = np.lexsort((-continued, sentence))
    first = np.searchsorted(sentence, np.arange(size))  # both in the order of sentences
    best = order[np.arange(len(order)) - first[sentence] < count]
    if len(best) != size * count:
        return None
    return Continuations(*(values[best].reshape(size, count) for values in (continued, token, last, row % width)))
