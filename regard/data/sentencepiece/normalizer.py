"""How SentencePiece changes a text before it segments it: replacements of a trie, then white space.

At each position the longest key of the trie is replaced. Runs of spaces become one, those at both ends go, a space is
put in front, and every space is written ▁, each where the model says so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from regard.data.sentencepiece.model_file import SPACE, NormalizerSpec

LABEL, VALUE = np.uint32(0x800000FF), np.uint32(0x7FFFFFFF)  # bits of a unit of the trie
LETTERS = [bytes((byte,)) for byte in range(256)]


class Normalizer:
    def __init__(self, spec: NormalizerSpec, suffix: bool = False, protected: Sequence[str] = ()) -> None:
        """suffix: the space stands behind a word. protected: what is left as it is wherever it occurs."""
        self.spec, self.suffix = spec, suffix
        self.space = SPACE if spec.escape_whitespaces else " "
        self.rules = trie_entries(spec.charsmap)
        self._protected = frozenset(protected)
        keys = [*self.rules, *protected]
        self._lengths: dict[str, list[int]] = defaultdict(
            list
        )  # of the keys that begin with a character, longest first
        for length, first in sorted({(len(key), key[0]) for key in keys}, reverse=True):
            self._lengths[first].append(length)
        # A text without these characters has no key in it.
        self._involved = {key[:2][-1] for key in keys}

    def __call__(self, text: str) -> str:
        if not self._involved.isdisjoint(text):
            return self.aligned(text)[0]
        if self.spec.remove_extra_whitespaces:
            text = re.sub(" {2,}", " ", text.lstrip(" "))
        return self._finished(text.replace(" ", self.space)) if text else ""

    def aligned(self, text: str) -> tuple[str, list[int]]:
        """The normalized text, and for each of its characters the place in `text` of what it was made of."""
        strip, space = self.spec.remove_extra_whitespaces, self.space
        replaced = list(self._replaced(text))
        if strip:
            leading = next((i for i, (new, _) in enumerate(replaced) if new != " "), len(replaced))
            replaced = replaced[leading:]
        if not replaced:
            return "", []
        parts, places, after_space = [], [], strip
        for new, place in replaced:
            kept = new.lstrip(" ") if after_space else new
            if kept:
                parts.append(kept.replace(" ", space))
                places += [place] * len(kept)
                after_space = strip and kept.endswith(" ")
        whole = "".join(parts)
        finished = self._finished(whole)
        if self.spec.add_dummy_prefix and not self.suffix:
            places.insert(0, replaced[0][1])
        places = places[: len(finished)]
        return finished, places + [len(text)] * (len(finished) - len(places))

    def _finished(self, text: str) -> str:
        """With the space in front, and without those at the end."""
        dummy = self.spec.add_dummy_prefix
        text = self.space + text if dummy and not self.suffix else text
        text = text.rstrip(self.space) if self.spec.remove_extra_whitespaces else text
        return text + self.space if dummy and self.suffix else text

    def _replaced(self, text: str) -> Iterator[tuple[str, int]]:
        """What each part of the text becomes, and where the part begins."""
        position = 0
        while position < len(text):
            lengths = self._lengths.get(text[position], ())
            keys = [text[position : position + length] for length in lengths]
            key = next((key for key in keys if key in self._protected), None)
            if key is None:
                key = next((key for key in keys if key in self.rules), text[position])
                yield self.rules.get(key, key), position
            else:
                yield key, position
            position += len(key)


@lru_cache(2)
def trie_entries(charsmap: bytes) -> dict[str, str]:
    """Keys and replacements of a compiled map: four bytes that give the size of a double-array trie (Darts-clone), the
    trie, and the replacements one after the other, each ended by a zero byte.

    Child c of the node at position p is the unit at p ^ c, if its label is c; the unit's offset leads to its own
    children, and a leaf's value is the place of its replacement.
    """
    if not charsmap:
        return {}
    size = int.from_bytes(charsmap[:4], "little")
    units = np.frombuffer(charsmap[4 : 4 + size], dtype="<u4")
    replacements = charsmap[4 + size :]
    places = np.arange(len(units))
    labels = (units & LABEL).astype(np.int64)
    places = places[(labels > 0) & (labels < 256)]  # of units that may be children
    parents = places ^ labels[places]  # the position of each one's parent
    order = np.argsort(parents, kind="stable")
    places, parents = places[order], parents[order]

    @cache
    def replacement(start: int) -> str:
        return replacements[start : replacements.index(b"\0", start)].decode()

    entries: dict[str, str] = {}
    nodes, keys = _offset(units[:1]), [b""]
    while len(nodes):
        first, past = np.searchsorted(parents, nodes, "left"), np.searchsorted(parents, nodes, "right")
        counts = past - first
        owners = np.repeat(np.arange(len(nodes)), counts)
        found = places[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[owners]]
        letters = labels[found].tolist()
        keys = [keys[owner] + LETTERS[letter] for owner, letter in zip(owners.tolist(), letters, strict=True)]
        nodes = found ^ _offset(units[found])
        leaves = np.flatnonzero(units[found] >> np.uint32(8) & np.uint32(1))
        starts = (units[nodes[leaves]] & VALUE).tolist()
        entries |= {
            keys[leaf].decode(): replacement(start) for leaf, start in zip(leaves.tolist(), starts, strict=True)
        }
    return entries


def _offset(units: np.ndarray) -> np.ndarray:
    """From the position of a node to that of its children."""
    return (units >> np.uint32(10) << ((units & np.uint32(1 << 9)) >> np.uint32(6))).astype(np.int64)
