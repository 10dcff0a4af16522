"""Encoded texts of different lengths in one array, and their padded batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.bpe_dropout import BpeDropout
from regard.data.vocabulary import PAD


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """start, start + 1, … of each start, as many as its count, one range after another."""
    return np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


@dataclass(frozen=True)
class TokenStore:
    """Rows of ids of different lengths in one array: row i is ids[starts[i] : starts[i + 1]]."""

    ids: np.ndarray  # int32
    starts: np.ndarray  # int64, one more than there are rows
    bpe_dropout: BpeDropout | None = None  # applied to batches that are given a generator

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def row(self, i: int) -> np.ndarray:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    def source(self, i: int) -> list[int]:
        """A row without EOS, as search takes it."""
        return self.row(i)[:-1].tolist()

    def indices(self, rows: np.ndarray) -> np.ndarray:
        """The indices of the ids of these rows, row by row."""
        return ranges(self.starts[rows], self.lengths[rows])

    def padded(self, rows: np.ndarray, generator: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(B, L) ids with PAD after each row, and the mask of what is real. `generator` draws BPE dropout."""
        starts = self.starts[rows]
        lengths = self.starts[rows + 1] - starts
        steps = np.arange(lengths.max())
        mask = steps < lengths[:, None]  # (B, L)
        indices = np.where(mask, starts[:, None] + steps, 0)
        ids = np.where(mask, self.ids[indices], PAD).astype(np.int64)
        if generator is None or self.bpe_dropout is None:
            return ids, mask
        return self.bpe_dropout.apply(ids, mask, generator)
