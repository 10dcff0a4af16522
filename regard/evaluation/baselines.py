"""Baselines of a language model: bits per character of gzip and of a character 5-gram.

Both are given the training text. The end of each text costs bits, as EOS does, and is not counted as a character: the
numbers can be compared with `bits_per_character` of a model.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence

from regard.errors import UserError

BEGIN = "\ufdd0"  # a code point that Unicode keeps free of characters
END = ""  # no character is equal to it
SYMBOLS = 0x110000 + 1  # all code points and END: unseen symbols have a probability, too


def language_baselines(train: Sequence[str], test: Sequence[str]) -> dict[str, float]:
    """Name → bits per character of the test texts."""
    return {"gzip": gzip_bits(train, test), "character 5-gram": CharacterNgram(train).bits_per_character(test)}


def gzip_bits(train: Sequence[str], test: Sequence[str]) -> float:
    """How much longer the compressed training text becomes by the test texts, one a line, in bits per character."""

    def size(texts: Sequence[str]) -> int:
        return len(gzip.compress("".join(f"{text}\n" for text in texts).encode(), compresslevel=9, mtime=0))

    return 8 * (size([*train, *test]) - size(train)) / _characters(test)


class CharacterNgram:
    """Interpolated n-gram with Witten-Bell smoothing (Chen and Goodman 1998, section 2.6).

    P(c | h) = (count(h c) + kinds(h) P(c | h')) / (count(h) + kinds(h)), kinds(h): how many different c follow h,
    h': h without its first character. Below the empty history the distribution is uniform over all symbols.
    """

    def __init__(self, texts: Sequence[str], order: int = 5) -> None:
        self.order = order
        self._followers: list[dict[str, dict[str, int]]] = [{} for _ in range(order)]  # by length of the history
        for text in texts:
            for history, symbol in self._ngrams(text):
                for length, table in enumerate(self._followers):
                    counts = table.setdefault(history[order - 1 - length :], {})
                    counts[symbol] = counts.get(symbol, 0) + 1
        self._totals = [
            {history: sum(counts.values()) for history, counts in table.items()} for table in self._followers
        ]

    def probability(self, history: str, symbol: str) -> float:
        """P(symbol | history): a character or END after the last order - 1 characters (padded by BEGIN)."""
        result = 1 / SYMBOLS
        for length, (table, totals) in enumerate(zip(self._followers, self._totals, strict=True)):
            context = history[self.order - 1 - length :]
            counts = table.get(context)
            if counts is None:  # a longer history is unseen too
                break
            result = (counts.get(symbol, 0) + len(counts) * result) / (totals[context] + len(counts))
        return result

    def bits_per_character(self, texts: Sequence[str]) -> float:
        bits = -sum(math.log2(self.probability(*ngram)) for text in texts for ngram in self._ngrams(text))
        return bits / _characters(texts)

    def _ngrams(self, text: str) -> list[tuple[str, str]]:
        """Each symbol of a text, END included, with the order - 1 characters before it."""
        padded, reach = BEGIN * (self.order - 1) + text, self.order - 1
        return [(padded[start : start + reach], symbol) for start, symbol in enumerate([*text, END])]


def _characters(texts: Sequence[str]) -> int:
    characters = sum(map(len, texts))
    if characters == 0:
        raise UserError("nothing to evaluate: the texts have 0 characters; give some text")
    return characters
