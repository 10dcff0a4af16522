"""By which tokens the hypotheses of a sentence had best go on: the most probable of all their continuations.

Twice: by the best of each hypothesis, sorted, as it is written; and for many numbers on the CPU by a bar that so many
continuations reach at least, so that all the others are passed over in one comparison, in half of the time
(docs/experiments/decoding-speed.md#mkl-and-onednn-on-amd-with-avx-512).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

MANY = 2**15  # log-probabilities from which on a bar is faster
CROWD = 64  # times as many as are asked for: above a bar that keeps so few back, sorting is faster


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
        found = _above_a_bar(total, log_probs.numpy(), count)
        if found is not None:
            return found
    return _sorted(total, log_probs, count)


def _sorted(total: np.ndarray, log_probs: Tensor, count: int) -> Continuations:
    """The best of a sentence are among the best of each hypothesis."""
    size, each = len(total), min(count, log_probs.shape[1])
    likely, tokens = (one.cpu().numpy().reshape(size, -1) for one in log_probs.topk(each, dim=-1))  # (B, W·each)
    continued = np.repeat(total, each, axis=1) + likely
    rows, place = np.arange(size)[:, None], np.argsort(-continued, axis=1, kind="stable")[:, :count]
    return Continuations(continued[rows, place], tokens[rows, place], likely[rows, place], place // each)


def _above_a_bar(total: np.ndarray, log_probs: np.ndarray, count: int) -> Continuations | None:
    """The bar of a sentence: the count-th best of the peaks of blocks of tokens. None where numbers fail it (NaN), and
    where it fails: a model that finds one token sure and all others alike puts it among these."""
    (size, width), vocabulary = total.shape, log_probs.shape[1]
    blocks = 2 * count  # of each hypothesis: it may be the only one whose continuations count
    length = vocabulary // blocks  # what is left over has no peak, but is compared
    peaks = log_probs[:, : blocks * length].reshape(size, width, blocks, length).max(3) + total[:, :, None]
    bar = np.partition(peaks.reshape(size, -1), -count, axis=1)[:, -count, None]  # (B, 1)
    with np.errstate(invalid="ignore"):  # -inf less -inf: who has no hypothesis has no continuation
        needed = bar - total - 1e-6 * (1 + np.abs(bar) + np.abs(total))  # sums are rounded
    found = np.flatnonzero(log_probs >= needed.reshape(-1, 1))
    if len(found) > CROWD * size * count:
        return None
    row, token = np.divmod(found, vocabulary)
    sentence, last = row // width, log_probs.ravel()[found]
    continued = total.ravel()[row] + last
    order = np.lexsort((-continued, sentence))
    first = np.searchsorted(sentence, np.arange(size))  # both in the order of sentences
    best = order[np.arange(len(order)) - first[sentence] < count]
    if len(best) != size * count:
        return None
    return Continuations(*(one[best].reshape(size, count) for one in (continued, token, last, row % width)))
