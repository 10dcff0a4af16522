"""Which target tokens each source token may become: Model 1 of Brown 1993, learned from the training pairs.

Decoding may then look at likely tokens, some hundreds for a sentence, instead of the whole vocabulary (a short list).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.batches import Ragged, stretches
from regard.data.tokenizer import BOS, EOS, PAD

LIKELY = 128  # target tokens kept for a source token
ALONE = 24  # source tokens, as many as a sentence or two have, that are each given all of theirs
FREQUENT = 512  # target tokens that are always on the list
ROUNDS = 4  # of expectation and maximization
CELLS = 8_000_000  # pairs of a source and a target token that are looked at, about, in rows from all of the corpus


@dataclass(frozen=True)
class Lexicon:
    likely: np.ndarray  # (S, LIKELY; 64 in older runs) target ids of each source id, the likeliest first, then PAD
    frequent: np.ndarray  # (≤ FREQUENT,) target ids, the most frequent first

    def candidates(self, sources: Sequence[Sequence[int]], also: Sequence[int] = ()) -> np.ndarray:
        """The target ids that may be written for any of these sources, ascending; the marks are among them.

        Source tokens lend each other theirs: where there are many, fewer of each one's own are taken, and still a
        sentence among many misses fewer than a sentence alone
        (docs/experiments/decoding-speed.md#peers-that-end-where-the-model-does). An older lexicon is narrow as it is.
        """
        read = np.unique(np.concatenate([np.asarray([*source, EOS]) for source in sources]))
        own = self.likely.shape[1]
        if own == LIKELY and len(read) > ALONE:
            own = int(LIKELY * (ALONE / len(read)) ** 0.5)
        extra = np.asarray([PAD, BOS, EOS, *also])
        return np.unique(np.concatenate([extra, self.frequent, self.likely[read, :own].ravel()]))


def learn_lexicon(source: Ragged, target: Ragged, source_size: int, target_size: int) -> Lexicon:
    """From encoded pairs, row by row. EOS of a source stands for what no word of it explains."""
    pairs, places = _cells(source, target, target_size)
    keys, cell = np.unique(pairs, return_inverse=True)
    owner = keys // target_size
    counts = probability = np.ones(len(keys))
    for _ in range(ROUNDS):
        share = probability[cell]
        share /= np.bincount(places, share)[places]  # how much of this target token this source token explains
        counts = np.bincount(cell, share)
        probability = counts / np.bincount(owner, counts)[owner]
    order = np.lexsort((keys, -counts, owner))
    keys, owner = keys[order], owner[order]
    rank = np.arange(len(keys)) - np.searchsorted(owner, owner)
    kept = rank < LIKELY
    likely = np.full((source_size, LIKELY), PAD, dtype=np.int32)
    likely[owner[kept], rank[kept]] = keys[kept] % target_size
    often = np.bincount(target.ids, minlength=target_size)
    frequent = np.argsort(-often, kind="stable")[:FREQUENT].astype(np.int32)
    return Lexicon(likely, frequent[often[frequent] > 0])


def _cells(source: Ragged, target: Ragged, target_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Every source token beside every target token of its pair: both ids in one, and which target token it is."""
    sizes = source.lengths * target.lengths
    rows = np.arange(len(sizes))[:: max(1, -(-int(sizes.sum()) // CELLS))]
    wide, high = source.lengths[rows], target.lengths[rows]
    width = np.repeat(wide, high)  # source tokens beside each target token
    written, read = target.places(rows), stretches(np.repeat(source.starts[rows], high), width)
    pairs = source.ids[read].astype(np.int64)
    pairs *= target_size
    pairs += np.repeat(target.ids[written], width)
    return pairs, np.repeat(np.arange(len(width), dtype=np.int32), width)
