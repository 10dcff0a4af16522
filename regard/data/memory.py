"""A translation memory: pairs that were translated before, found again by an equal or a similar source.

The score of a match is 100 · (1 − d / max(|a|, |b|)), rounded down, with the edit distance d of the two sources in
characters (Levenshtein 1966). It is 100 for equal sources only.

The index holds, for each entry, how often each of its character bigrams occurs (hashed to BUCKETS numbers). One edit
destroys at most two bigrams, so a text that shares s bigrams (counted with repetition) with one of m bigrams is at a
distance of at least (m − s) / 2: Ukkonen 1992, section 2. Entries that this bound cannot exclude are compared, the most
promising first. Nothing is lost by it: `scan` compares all, and a test says that both find the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regard.data.examples import Example

BUCKETS = 512
EXACT = 100
CHUNK = 4096  # entries that are indexed at once
FIRST_COMPARED = 128  # entries that are compared at once; then four times as many
MOST_COUNTED = 255  # how often a bigram is counted in one text
WORD = 64
ONE = np.uint64(1)


@dataclass(frozen=True)
class MemoryMatch:
    source: str
    target: str
    score: int


class TranslationMemory:
    """Pairs, found by their source. Of one source the target that was given most often comes first."""

    def __init__(self, pairs: Iterable[Example]) -> None:
        counts: dict[str, dict[str, int]] = {}
        for pair in pairs:
            targets = counts.setdefault(pair.source, {})
            targets[pair.target] = targets.get(pair.target, 0) + 1
        self._targets = {
            source: tuple(sorted(targets, key=lambda target: -targets[target])) for source, targets in counts.items()
        }
        self._sources = sorted(self._targets, key=len)  # so that texts of similar length stand together
        self._lengths = np.array([len(source) for source in self._sources], dtype=np.int64)
        self._texts = PackedTexts(self._sources)
        self._counts = _bigram_counts(self._sources)

    def __len__(self) -> int:
        """How many pairs, equal ones counted once."""
        return sum(map(len, self._targets.values()))

    def exact(self, text: str) -> tuple[str, ...]:
        """The targets of this source, the most frequent first."""
        return self._targets.get(text, ())

    def lookup(self, text: str, minimum: int = 75, limit: int = 5) -> list[MemoryMatch]:
        """At most `limit` pairs with a score of `minimum` (1 to 100) or more, the best first."""
        rows, bounds = self._promising(text, minimum)
        best: list[tuple[int, str]] = []
        start, size = 0, FIRST_COMPARED
        while start < len(rows) and (len(best) < limit or bounds[start] >= best[-1][0]):
            chunk = rows[start : start + size]
            scores = _score(self._texts.distances(text, chunk), np.maximum(self._lengths[chunk], len(text)))
            new = [(int(scores[i]), self._sources[chunk[i]]) for i in np.flatnonzero(scores >= minimum)]
            best = sorted([*best, *new], key=_best_first)[:limit]
            start, size = start + size, min(4 * size, CHUNK)
        return self._matches(best, limit)

    def scan(self, text: str, minimum: int = 75, limit: int = 5) -> list[MemoryMatch]:
        """The same as `lookup`, without the index."""
        scored = [(similarity(text, source), source) for source in self._sources]
        return self._matches(sorted((pair for pair in scored if pair[0] >= minimum), key=_best_first), limit)

    def _matches(self, best: list[tuple[int, str]], limit: int) -> list[MemoryMatch]:
        found = [MemoryMatch(source, target, score) for score, source in best for target in self._targets[source]]
        return found[:limit]

    def _promising(self, text: str, minimum: int) -> tuple[np.ndarray, np.ndarray]:
        """The entries that may reach `minimum`, and the highest score that each can have, the highest first."""
        low = int(np.searchsorted(self._lengths, len(text) * minimum / EXACT, side="left"))
        high = int(np.searchsorted(self._lengths, len(text) * EXACT / minimum, side="right"))
        counts = self._counts[:, low:high]  # (BUCKETS, entries)
        query = _bigram_counts([text])[:, 0]
        shared = np.zeros(high - low, dtype=np.uint16)
        for bucket in np.flatnonzero(query):
            shared += np.minimum(counts[bucket], query[bucket])
        lengths = self._lengths[low:high]
        longer = np.maximum(lengths, len(text))
        # Counts are cut at MOST_COUNTED: texts that may have more of a bigram differ in their length alone.
        missing = np.where(longer <= MOST_COUNTED, longer - 1 - shared, 0)
        bounds = _score(np.maximum((missing + 1) // 2, np.abs(lengths - len(text))), longer)
        kept = np.flatnonzero(bounds >= minimum)
        kept = kept[np.argsort(-bounds[kept], kind="stable")]
        return low + kept, bounds[kept]


class PackedTexts:
    """PackedTexts laid out so that many are compared with one at once."""

    def __init__(self, texts: list[str]) -> None:
        self._letters = _letters(texts)
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths

    def distances(self, text: str, rows: np.ndarray) -> np.ndarray:
        """The edit distances of `text` to the texts of these rows.

        Myers 1999: a column of the table of distances is kept as two bit vectors, which say where the distance grows by
        one (`plus`) and where it shrinks (`minus`) from one row to the next. `text` is the side of the rows, 64 to a
        word; a step takes the next letter of every other text.
        """
        if not text:
            return self._lengths[rows]
        alphabet, codes = np.unique(_letters([text]), return_inverse=True)
        words = -(-len(text) // WORD)
        positions = np.zeros((words, len(alphabet) + 1), dtype=np.uint64)  # the last: letters that text has not
        for place, code in enumerate(codes):
            positions[place // WORD, code] |= ONE << np.uint64(place % WORD)
        order = np.argsort(-self._lengths[rows], kind="stable")  # longest first: the others end before them
        starts, lengths = self._starts[rows][order], self._lengths[rows][order]
        plus = np.full((words, len(rows)), ~np.uint64(0))
        minus = np.zeros((words, len(rows)), dtype=np.uint64)
        distance = np.full(len(rows), len(text), dtype=np.int64)
        last = np.uint64((len(text) - 1) % WORD)
        for column in range(int(lengths[0]) if len(rows) else 0):
            live = int(np.searchsorted(-lengths, -column, side="left"))
            letters = self._letters[starts[:live] + column]
            found = np.minimum(np.searchsorted(alphabet, letters), len(alphabet) - 1)
            code = np.where(alphabet[found] == letters, found, len(alphabet))
            grows, shrinks = np.full(live, ONE), np.zeros(live, dtype=np.uint64)  # row 0 grows with every column
            for word in range(words):
                top = last if word == words - 1 else np.uint64(WORD - 1)
                up, down = plus[word, :live], minus[word, :live]
                grows, shrinks = _step(positions[word][code], up, down, grows, shrinks, top)
            distance[:live] += grows.astype(np.int64) - shrinks.astype(np.int64)
        result = np.empty_like(distance)
        result[order] = distance
        return result


def _step(
    equal: np.ndarray, plus: np.ndarray, minus: np.ndarray, grows_in: np.ndarray, shrinks_in: np.ndarray, top: np.uint64
) -> tuple[np.ndarray, np.ndarray]:
    """One column of one word; `plus` and `minus` become those of this column.

    In and out: whether the distance grows or shrinks from the last column to this one, in the row before the word and
    in its bit `top`.
    """
    vertical = equal | minus
    equal = equal | shrinks_in
    horizontal = (((equal & plus) + plus) ^ plus) | equal
    grows = minus | ~(horizontal | plus)
    shrinks = plus & horizontal
    grows_out, shrinks_out = (grows >> top) & ONE, (shrinks >> top) & ONE
    grows, shrinks = (grows << ONE) | grows_in, (shrinks << ONE) | shrinks_in
    plus[:] = shrinks | ~(vertical | grows)
    minus[:] = grows & vertical
    return grows_out, shrinks_out


def _score(distance: np.ndarray, longer: np.ndarray) -> np.ndarray:
    return EXACT - -(-EXACT * distance // np.maximum(longer, 1))


def similarity(first: str, second: str) -> int:
    """0 to 100; 100 for equal texts only."""
    longer = max(len(first), len(second))
    return EXACT if not longer else EXACT - -(-EXACT * edit_distance(first, second) // longer)


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions and substitutions from one text to the other, by the table of Wagner & Fischer 1974."""
    row = list(range(len(second) + 1))
    for above, letter in enumerate(first, start=1):
        diagonal, row[0] = row[0], above
        for column, other in enumerate(second, start=1):
            best = min(row[column] + 1, row[column - 1] + 1, diagonal + (letter != other))
            diagonal, row[column] = row[column], best
    return row[-1]


def _best_first(scored: tuple[int, str]) -> tuple[int, int, str]:
    score, source = scored
    return -score, len(source), source


def _letters(texts: list[str]) -> np.ndarray:
    """The code points of all texts, one after the other."""
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _bigram_counts(texts: list[str]) -> np.ndarray:
    """How often each bigram occurs in each text: (BUCKETS, texts), a row for each bucket, so that few are read."""
    counts = np.zeros((BUCKETS, len(texts)), dtype=np.uint8)
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        letters = _letters(chunk)
        owner = np.repeat(np.arange(len(chunk)), [len(text) for text in chunk])
        inside = owner[1:] == owner[:-1]  # no bigram of two texts
        hashed = (letters[:-1] * np.uint32(0x9E3779B1) + letters[1:] * np.uint32(0x85EBCA77)) >> np.uint32(23)
        flat = np.bincount(hashed[inside] + owner[1:][inside] * BUCKETS, minlength=BUCKETS * len(chunk))
        counts[:, start : start + len(chunk)] = np.minimum(flat, MOST_COUNTED).reshape(len(chunk), BUCKETS).T
    return counts
