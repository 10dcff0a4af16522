"""How SentencePiece cuts a normalized text into pieces: by a unigram language model or by BPE merges.

Both give SentencePiece's own pieces, also where two segmentations are equally good. Most texts are cut word by word,
and each word once; a text with a close decision is cut as a whole, in the arithmetic of SentencePiece.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from regard.data.sentencepiece.model_file import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED, PieceModel

UNKNOWN_PENALTY = 10.0  # below the lowest score
# In float32 a sum below 4096 is off by 1/8192 at most for each piece. Decisions that are clearer do not depend on that.
CLEAR, LARGEST = 1 / 2048, 4096.0
CACHED = 2**16  # words
PieceId = tuple[str, int]  # a piece and its id


class SegmentedWord(NamedTuple):
    segments: tuple[PieceId, ...]
    score: float
    clear: bool  # no other segmentation comes near


class PieceSegmenter:
    """A text → its pieces; an unknown run is one piece with the unknown id."""

    def __init__(self, model: PieceModel) -> None:
        self.model = model
        self._own = {piece.text: (i, piece.type, piece.score) for i, piece in enumerate(model.pieces)}
        self._known = {text: entry for text, entry in self._own.items() if entry[1] in (NORMAL, USER_DEFINED, UNUSED)}
        self._bytes = {piece.text: i for i, piece in enumerate(model.pieces) if piece.type == BYTE}
        self._unknown = model.unknown
        normal = [piece.score for piece in model.pieces if piece.type == NORMAL]
        self._lowest, self._highest = min(normal, default=0.0), max([float(np.finfo(np.float32).tiny), *normal])
        self._tree = _prefixes(self._known)
        spaced = any(SPACE in text[1:] for text in self._known)
        self._by_words = not spaced and not any(entry[1] == USER_DEFINED for entry in self._own.values())
        self._word = lru_cache(CACHED)(self._word_by_unigram if model.algorithm == "unigram" else self._word_by_bpe)

    def __call__(self, text: str) -> list[PieceId]:
        return list(self._joined(self._segments(text)))

    def _segments(self, text: str) -> list[PieceId]:
        if not text:
            return []
        if self._by_words:
            words = [self._word(word) for word in re.findall(f"{SPACE}?[^{SPACE}]+|{SPACE}", text)]
            if all(word.clear for word in words) and sum(word.score for word in words) > -LARGEST:
                return [segment for word in words for segment in word.segments]
        if self.model.algorithm == "bpe":
            return self._merged(text)
        return self._best_path(text)

    def _joined(self, segments: list[PieceId]) -> Iterator[PieceId]:
        """Bytes in place of what is unknown, or unknown neighbours as one."""
        pending = ""
        for text, i in segments:
            if i != self._unknown:
                if pending:
                    yield pending, self._unknown
                    pending = ""
                yield text, i
            elif self.model.byte_fallback:
                for byte in text.encode():
                    name = f"<0x{byte:02X}>"
                    yield name, self._bytes.get(name, self._unknown)
            else:
                pending += text
        if pending:
            yield pending, self._unknown

    # --- unigram: the path of pieces with the highest sum of scores (Kudo 2018, 3.2), by Viterbi -------------------

    def _score(self, entry: tuple[int, int, float], text: str) -> float:
        """A user's own piece always wins."""
        if entry[1] != USER_DEFINED:
            return entry[2]
        return float(np.float32(len(text.encode()) * self._highest)) - 0.1

    def _best_path(self, text: str) -> list[PieceId]:
        """In float32, as SentencePiece adds; of equal paths the first that was found."""
        size, unknown = len(text), float(np.float32(self._lowest - UNKNOWN_PENALTY))
        scores: list[float] = [0.0, *([-np.inf] * size)]
        back: list[tuple[int, int]] = [(0, 0)] * (size + 1)
        for start in range(size):
            so_far, single = scores[start], False
            for end, entry in self._beginning_at(text, start):
                score = float(np.float32(so_far + self._score(entry, text[start:end])))
                if score > scores[end]:
                    scores[end], back[end] = score, (start, entry[0])
                single = single or end == start + 1
            if not single:
                score = float(np.float32(so_far + unknown))
                if score > scores[start + 1]:
                    scores[start + 1], back[start + 1] = score, (start, self._unknown)
        return [(text[start:end], i) for start, end, i in _followed(back)]

    def _word_by_unigram(self, word: str) -> SegmentedWord:
        """In float64, with the second best way to each position."""
        size, unknown = len(word), self._lowest - UNKNOWN_PENALTY
        scores, second = [0.0] + [-np.inf] * size, [-np.inf] * (size + 1)
        back: list[tuple[int, int]] = [(0, 0)] * (size + 1)
        for start in range(size):
            so_far, single = scores[start], False
            ways = [(end, entry[0], so_far + entry[2]) for end, entry in self._beginning_at(word, start)]
            single = bool(ways) and ways[0][0] == start + 1
            for end, i, score in ways if single else [(start + 1, self._unknown, so_far + unknown), *ways]:
                if score > scores[end]:
                    second[end] = scores[end]
                    scores[end], back[end] = score, (start, i)
                elif score > second[end]:
                    second[end] = score
        path = _followed(back)
        margin = min((scores[end] - second[end] for _, end, _ in path), default=np.inf)
        segments = tuple((word[start:end], i) for start, end, i in path)
        return SegmentedWord(segments, scores[size], margin > CLEAR * size)

    def _beginning_at(self, text: str, start: int) -> Iterator[tuple[int, tuple[int, int, float]]]:
        """The pieces that the text has from here on, short ones first: where they end, and what they are."""
        for end in range(start + 1, len(text) + 1):
            entry = self._tree.get(text[start:end])
            if entry is None:
                return
            if entry[1] in (NORMAL, USER_DEFINED):
                yield end, entry

    # --- BPE: the best neighbours are merged until no pair of them is a piece (Sennrich 2016) -----------------------

    def _word_by_bpe(self, word: str) -> SegmentedWord:
        return SegmentedWord(tuple(self._merged(word)), 0.0, clear=True)

    def _merged(self, text: str) -> list[PieceId]:
        """The pair with the highest score first, of equal ones the leftmost."""
        symbols: list[str] = list(self._characters(text))
        frozen = [self._known.get(symbol, (0, 0, 0.0))[1] == USER_DEFINED for symbol in symbols]
        left, right = list(range(-1, len(symbols) - 1)), [*range(1, len(symbols)), -1]
        agenda: list[tuple[float, int, int, str]] = []
        halves: dict[str, tuple[str, str]] = {}  # of merged pieces that are not to be used

        def consider(first: int, second: int) -> None:
            if first < 0 or second < 0 or frozen[first] or frozen[second]:
                return
            entry = self._known.get(pair := symbols[first] + symbols[second])
            if entry is not None:
                heapq.heappush(agenda, (-entry[2], first, second, pair))
                if entry[1] == UNUSED:
                    halves[pair] = (symbols[first], symbols[second])

        for first, second in pairwise(range(len(symbols))):
            consider(first, second)
        while agenda:
            _, first, second, pair = heapq.heappop(agenda)
            if not symbols[first] or not symbols[second] or symbols[first] + symbols[second] != pair:
                continue  # one of them was merged meanwhile
            symbols[first], symbols[second] = pair, ""
            right[first] = right[second]
            if right[second] >= 0:
                left[right[second]] = first
            consider(left[first], first)
            consider(first, right[first])
        return [segment for symbol in symbols if symbol for segment in self._in_use(symbol, halves)]

    def _in_use(self, symbol: str, halves: dict[str, tuple[str, str]]) -> Iterator[PieceId]:
        """A piece, or those it was merged of where it is not to be used."""
        i, kind, _ = self._own.get(symbol, (self._unknown, UNKNOWN, 0.0))
        if kind != UNUSED or symbol not in halves:
            yield symbol, self._unknown if kind in (UNKNOWN, CONTROL) else i
            return
        for half in halves[symbol]:
            yield from self._in_use(half, halves)

    def _characters(self, text: str) -> Iterator[str]:
        """Characters, and pieces of the user's own whole."""
        whole = [piece for piece, (_, kind, _) in self._own.items() if kind == USER_DEFINED]
        position = 0
        while position < len(text):
            fitting = [piece for piece in whole if text.startswith(piece, position)]
            symbol = max(fitting, key=len) if fitting else text[position]
            yield symbol
            position += len(symbol)


def _prefixes(known: dict[str, tuple[int, int, float]]) -> dict[str, tuple[int, int, float]]:
    """The pieces, and everything that one of them begins with."""
    nothing = (-1, 0, 0.0)
    tree = {text[:length]: nothing for text in known for length in range(1, len(text))}
    return tree | known


def _followed(back: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Start, end and id of each piece on the best path."""
    path, end = [], len(back) - 1
    while end > 0:
        start, i = back[end]
        path.append((start, end, i))
        end = start
    return path[::-1]
