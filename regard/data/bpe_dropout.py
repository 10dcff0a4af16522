"""Pieces of BPE taken apart at random, so that a model sees a word in more than one spelling.

A piece falls into the two that it was merged of with some probability, each of those again, and so on: akin to
BPE-dropout (Provilkov 2020), but done to ids, so that no text is read again and a seed gives the same pieces. They are
only ever finer than the usual ones, and a share does less than the same rate of dropout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from regard.data.tokenizer import PAD, Tokenizer


@dataclass(frozen=True)
class BpeDropout:
    """Which two pieces each piece of a vocabulary was merged of."""

    halves: np.ndarray  # (V, 2) int32; -1 for what was never merged: bytes and marks
    longest: int  # tokens that a row may have

    @classmethod
    def of(cls, tokenizer: Tokenizer, longest: int) -> BpeDropout:
        assert tokenizer.kind == "bpe", "only merges can be undone"
        halves = np.full((tokenizer.size, 2), -1, np.int32)
        ids = tokenizer.engine.get_vocab()
        for left, right in reversed(json.loads(tokenizer.engine.to_str())["model"]["merges"]):  # the first one counts
            halves[ids[left + right]] = ids[left], ids[right]
        return cls(halves, longest)

    def take_apart(
        self, ids: np.ndarray, mask: np.ndarray, share: float, draw: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Padded rows (B, L) and their mask → the same with longer rows; one that would be too long stays whole."""
        rows, pieces = np.nonzero(mask)[0], ids[mask]
        fresh = np.ones(len(pieces), bool)  # those that have not had their chance yet
        while True:
            fresh &= (self.halves[pieces, 0] >= 0) & (draw.random(len(pieces)) < share)
            if not fresh.any():
                break
            times = 1 + fresh
            places = np.cumsum(times) - times
            split = self.halves[pieces[fresh]]
            rows, pieces, first = np.repeat(rows, times), np.repeat(pieces, times), places[fresh]
            pieces[first], pieces[first + 1] = split[:, 0], split[:, 1]
            fresh = np.zeros(len(pieces), bool)
            fresh[first] = fresh[first + 1] = True
        return self._padded(ids, mask, rows, pieces)

    def _padded(
        self, ids: np.ndarray, mask: np.ndarray, rows: np.ndarray, pieces: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.bincount(rows, minlength=len(ids))
        whole = lengths > self.longest
        if whole.any():
            kept = ~whole[rows]
            again = whole[:, None] & mask
            rows, pieces = (
                np.concatenate((rows[kept], np.nonzero(again)[0])),
                np.concatenate((pieces[kept], ids[again])),
            )
            order = np.argsort(rows, kind="stable")
            rows, pieces, lengths = rows[order], pieces[order], np.bincount(rows, minlength=len(ids))
        real = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(real.shape, PAD, ids.dtype)
        padded[real] = pieces
        return padded, real
