"""BPE dropout: tokens are split at random, so that a model sees a word in more than one segmentation.

A token is split into the two that it was merged from with some probability, each of those again, and so on: akin to
BPE-dropout (Provilkov 2020), but done to ids, so that no text is encoded again and a seed gives the same tokens. They
are only ever finer than the usual ones, and a rate does less than the same rate of the paper's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import PAD


@dataclass(frozen=True)
class BpeDropout:
    """Splits tokens of one vocabulary into the two that each was merged from."""

    halves: np.ndarray  # (V, 2) int32; -1 for what was never merged: bytes and special tokens
    rate: float  # the probability that a token is split
    longest: int  # tokens that a row may have

    @classmethod
    def of(cls, tokenizer: Tokenizer, rate: float, longest: int) -> BpeDropout:
        assert tokenizer.kind == "bpe", "only merges can be undone"
        halves = np.full((tokenizer.size, 2), -1, np.int32)
        ids = tokenizer.engine.get_vocab()
        merges = json.loads(tokenizer.engine.to_str())["model"]["merges"]
        for left, right in reversed(merges):  # where two merges give one token, the first counts
            halves[ids[left + right]] = ids[left], ids[right]
        return cls(halves, rate, longest)

    def apply(self, ids: np.ndarray, mask: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Padded rows (B, L) and their mask → the same with longer rows; one that would be too long stays whole."""
        rows, tokens = np.nonzero(mask)[0], ids[mask]
        untried = np.ones(len(tokens), bool)  # whether to split them is still to be drawn
        while True:
            untried &= (self.halves[tokens, 0] >= 0) & (generator.random(len(tokens)) < self.rate)
            if not untried.any():
                break
            repeats = 1 + untried
            starts = np.cumsum(repeats) - repeats
            split = self.halves[tokens[untried]]
            rows, tokens, first = np.repeat(rows, repeats), np.repeat(tokens, repeats), starts[untried]
            tokens[first], tokens[first + 1] = split[:, 0], split[:, 1]
            untried = np.zeros(len(tokens), bool)
            untried[first] = untried[first + 1] = True
        return self._padded(ids, mask, rows, tokens)

    def _padded(
        self, ids: np.ndarray, mask: np.ndarray, rows: np.ndarray, tokens: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.bincount(rows, minlength=len(ids))
        too_long = lengths > self.longest
        if too_long.any():
            fits = ~too_long[rows]
            restored = too_long[:, None] & mask
            rows = np.concatenate((rows[fits], np.nonzero(restored)[0]))
            tokens = np.concatenate((tokens[fits], ids[restored]))
            order = np.argsort(rows, kind="stable")
            rows, tokens, lengths = rows[order], tokens[order], np.bincount(rows, minlength=len(ids))
        real = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(real.shape, PAD, ids.dtype)
        padded[real] = tokens
        return padded, real
