"""Which target tokens each source token may become: Model 1 of Brown 1993, learned from the training pairs.

Decoding may then look at likely tokens, some hundreds for a sentence, instead of the whole vocabulary (a shortlist).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.sources import Source, token_ids
from regard.data.token_store import TokenStore, ranges
from regard.data.vocabulary import BOS, EOS, PAD

LIKELY = 128  # target tokens kept for a source token
ALONE = 24  # source tokens, as many as a sentence or two have, that each have all of theirs
FREQUENT = 512  # target tokens that are on every list
ROUNDS = 4  # of expectation and maximization
CELLS = 8_000_000  # pairs of a source and a target token that are looked at, about, in rows from all of the corpus


@dataclass(frozen=True)
class Lexicon:
    likely: np.ndarray  # (S, LIKELY; 64 in older runs) target ids of each source id, the likeliest first, then PAD
    frequent: np.ndarray  # (≤ FREQUENT,) target ids, the most frequent first

    def candidates(self, sources: Sequence[Source], also: Sequence[int] = ()) -> np.ndarray:
        """The target ids that may be generated for any of these sources, ascending, with the special tokens.

        Where there are many source tokens, fewer target tokens of each are taken: a sentence in a large batch still
        misses fewer than a sentence alone, because it has those of the others, too
        (docs/experiments/decoding-speed.md#peers-that-end-where-the-model-does). An older lexicon is narrow as it is.
        """
        source_ids = np.unique(np.concatenate([np.asarray([*token_ids(source), EOS]) for source in sources]))
        width = self.likely.shape[1]
        if width == LIKELY and len(source_ids) > ALONE:
            width = int(LIKELY * (ALONE / len(source_ids)) ** 0.5)
        extra = np.asarray([PAD, BOS, EOS, *also])
        return np.unique(np.concatenate([extra, self.frequent, self.likely[source_ids, :width].ravel()]))


def learn_lexicon(source: TokenStore, target: TokenStore, source_size: int, target_size: int) -> Lexicon:
    """From encoded pairs, row by row. EOS of a source stands for what no word of it explains."""
    cells, positions = _cells(source, target, target_size)
    keys, cell = np.unique(cells, return_inverse=True)
    owner = keys // target_size
    counts = probability = np.ones(len(keys))
    for _ in range(ROUNDS):
        share = probability[cell]
        share /= np.bincount(positions, share)[positions]  # how much of this target token this source token explains
        counts = np.bincount(cell, share)
        probability = counts / np.bincount(owner, counts)[owner]
    order = np.lexsort((keys, -counts, owner))
    keys, owner = keys[order], owner[order]
    rank = np.arange(len(keys)) - np.searchsorted(owner, owner)
    kept = rank < LIKELY
    likely = np.full((source_size, LIKELY), PAD, dtype=np.int32)
    likely[owner[kept], rank[kept]] = keys[kept] % target_size
    counts = np.bincount(target.ids, minlength=target_size)
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT].astype(np.int32)
    return Lexicon(likely, frequent[counts[frequent] > 0])


def _cells(source: TokenStore, target: TokenStore, target_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Every source token beside every target token of its pair: both ids in one number, and the target's position."""
    sizes = source.lengths * target.lengths
    rows = np.arange(len(sizes))[:: max(1, -(-int(sizes.sum()) // CELLS))]
    source_lengths, target_lengths = source.lengths[rows], target.lengths[rows]
    width = np.repeat(source_lengths, target_lengths)  # source tokens beside each target token
    source_indices = ranges(np.repeat(source.starts[rows], target_lengths), width)
    cells = source.ids[source_indices].astype(np.int64)
    cells *= target_size
    cells += np.repeat(target.ids[target.indices(rows)], width)
    return cells, np.repeat(np.arange(len(width), dtype=np.int32), width)
