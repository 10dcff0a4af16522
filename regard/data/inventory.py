"""What the texts of one side are made of: letters, or symbols parted by spaces, and how often each is seen."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# A symbol begins at a space, or at what stands between the tags of a word (V;PST;3;SG).
SYMBOL = r"[ ;+|]?[^ ;+|]+|[ ;+|]"
MOST_SYMBOLS = 500
LONGEST_SYMBOL = 3  # characters in the mean: longer ones are words
MOST_TAGS = 8  # of a word, in the mean
SEEN_OFTEN = 20  # times in the mean: an inventory is small where its symbols are
SELDOM, FEW = 5, 0.1  # what is seen less than so many times may be such a share of an inventory
TOGETHER = 1000  # texts
LOOKED_AT = 8_000  # texts that are enough to tell


@dataclass(frozen=True)
class Inventory:
    """Of the texts of one side."""

    texts: int
    characters: float  # of a text, in the mean
    letters: Counter[str]
    symbols: frozenset[str]  # what to keep whole, with the space before it; empty where a text is not made of symbols
    tags: bool  # the symbols stand beside a word, which is to be spelt
    length: float  # of a text in the mean: symbols and letters of what is spelt, or letters
    parts: int | None  # different letters when accents and Hangul are taken apart; None: that would bring little


def take_inventory(texts: Sequence[str]) -> Inventory:
    letters: Counter[str] = Counter()
    for start in range(0, len(texts), TOGETHER):  # in one piece they are counted twice as fast
        letters.update("".join(texts[start : start + TOGETHER]))
    count = max(len(texts), 1)
    characters = letters.total() / count
    symbols, tags = find_symbols(texts)
    length = characters
    if symbols:
        pieces = Counter(piece for text in texts for piece in split_symbols(text))
        length = sum(times * (1 if piece in symbols else len(piece)) for piece, times in pieces.items()) / count
    return Inventory(len(texts), characters, letters, symbols, tags, length, _parts(letters))


def split_symbols(text: str) -> list[str]:
    """Each symbol with the space (or ; + |) before it; the first as after a space."""
    return re.findall(SYMBOL, f" {text}") if text else []


def find_symbols(texts: Sequence[str]) -> tuple[frozenset[str], bool]:
    """The symbols that texts are made of, and whether they are tags beside a word; none where they are too many.

    Symbols: all pieces, few and short, as in "b ɔ̃ ʒ u ʁ". Tags: all pieces but the first, or but the last, where that
    is a word of which there are many, as in "lemma V PST 3 SG".
    """
    some = texts[:: max(1, len(texts) // LOOKED_AT)]
    rows = [pieces for pieces in map(split_symbols, some) if pieces]
    for tags_at, word_at in ((slice(1, None), 0), (slice(-1), -1)):
        tags = Counter(piece for row in rows for piece in row[tags_at])
        words = {row[word_at] for row in rows if any(map(str.isalpha, row[word_at]))}
        few = len(rows) <= tags.total() <= MOST_TAGS * len(rows)
        if few and _is_small(tags) and len(words - tags.keys()) > len(tags):
            return frozenset(tags), True
    everything = Counter(piece for row in rows for piece in row)
    characters = sum(times * (len(piece) - 1) for piece, times in everything.items())
    short = characters <= LONGEST_SYMBOL * everything.total()
    if short and everything.total() >= 2 * len(rows) and _is_small(everything):
        return frozenset(everything), False
    return frozenset(), False


def _is_small(pieces: Counter[str]) -> bool:
    """Few pieces, each seen often."""
    if not 2 <= len(pieces) <= MOST_SYMBOLS or pieces.total() < SEEN_OFTEN * len(pieces):
        return False
    return sum(times < SELDOM for times in pieces.values()) <= FEW * len(pieces)


def _parts(letters: Counter[str]) -> int | None:
    """Half as many parts as letters or fewer, where some of the letters are seen too seldom to be learned."""
    parts = {part for letter in letters for part in unicodedata.normalize("NFD", letter)}
    seldom = sum(times < SELDOM for times in letters.values())
    return len(parts) if 2 * len(parts) <= len(letters) and seldom > FEW * len(letters) else None
