"""Placeholders put back by alignment: where the words that they stood by in the source went, there they go.

For models whose vocabulary has no symbols for them (regard.data.masking): the source is translated without its
placeholders, and the attention tells which output words belong to the source words next to each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.placeholders import Role

WORD = re.compile(r"\w+|[^\w\s]")
ENDING = re.compile(r"[\s.!?:;…。！？]*$")
ENDS = re.compile(r"""$|[\s.,;:!?)\]}>»"'…。、<]""")  # stands after a word without a space
Extent = tuple[int, int]  # of a pair: first and past-last character of the output; of others both are the same


@dataclass(frozen=True)
class Removed:
    """A placeholder that was taken out of the source; `position`: where it stood in what is left."""

    text: str
    role: Role
    position: int
    pair: int | None  # the index of the other half among all that were removed
    space_before: bool
    space_after: bool


@dataclass(frozen=True)
class WordAlignment:
    """How much each output word (rows) attends to each source word; both by their spans in the texts."""

    sources: list[Extent]
    targets: list[Extent]
    weights: np.ndarray  # (target words, source words)

    @classmethod
    def of(
        cls,
        source: str,
        output: str,
        source_tokens: Sequence[Extent],
        output_tokens: Sequence[Extent],
        weights: np.ndarray,
    ) -> WordAlignment:
        """weights (T, S) of tokens, whose spans these are: those of a word are summed, or averaged in the output."""
        sources, targets = ([match.span() for match in WORD.finditer(text)] for text in (source, output))
        rows, columns = _covers(targets, output_tokens), _covers(sources, source_tokens)
        rows = rows / np.maximum(rows.sum(1, keepdims=True), 1)
        return cls(sources, targets, rows @ weights @ columns.T)

    @classmethod
    def diagonal(cls, source: str, output: str) -> WordAlignment:
        """Without attention: words at the same relative position."""
        sources, targets = ([match.span() for match in WORD.finditer(text)] for text in (source, output))
        rows, columns = (np.arange(0.5, len(spans)) / max(len(spans), 1) for spans in (targets, sources))
        return cls(sources, targets, 1 - np.abs(rows[:, None] - columns))

    def of_words(self, words: Sequence[int]) -> list[int]:
        """The output words that belong to any of these source words; if none does, those that attend to them most."""
        if not words or not self.targets:
            return []
        best = self.weights.argmax(1)
        found = np.flatnonzero(np.isin(best, words)).tolist()
        return found or sorted(set(self.weights[:, words].argmax(0).tolist()))


def project(output: str, source: str, removed: Sequence[Removed], alignment: WordAlignment) -> str:
    """The output with every removed placeholder once, tags in legal order."""
    places = [_place(index, removed, source, output, alignment) for index in range(len(removed))]
    inserted: list[tuple[int, Removed]] = []
    _insert(_top(removed, 0, len(removed)), removed, places, (0, len(output)), inserted)
    text, done = "", 0
    for position, placeholder in inserted:
        text += output[done:position]
        done = position
        if placeholder.role in ("open", "close"):
            text += placeholder.text
            continue
        before = " " if placeholder.space_before and text and not text[-1].isspace() else ""
        following = output[position : position + 1]
        after = " " if placeholder.space_after and not ENDS.match(following) else ""
        text += f"{before}{placeholder.text}{after}"
    return text + output[done:]


def _place(index: int, removed: Sequence[Removed], source: str, output: str, alignment: WordAlignment) -> Extent:
    placeholder = removed[index]
    if placeholder.pair is not None and placeholder.pair > index:
        start, end = placeholder.position, removed[placeholder.pair].position
        inside = [word for word, (first, last) in enumerate(alignment.sources) if start <= first and last <= end]
        if inside and len(inside) == len(alignment.sources):
            return 0, len(output)
        words = alignment.of_words(inside)
        if words:
            return alignment.targets[words[0]][0], alignment.targets[words[-1]][1]
    point = _point(placeholder.position, source, output, alignment)
    return point, point


def _point(position: int, source: str, output: str, alignment: WordAlignment) -> int:
    """Before the words of the next source word; or after those of the last one; at an end of the text, at that end."""
    if not source[:position].strip():
        return 0
    if not ENDING.sub("", source[position:]):  # nothing but punctuation follows
        return len(ENDING.sub("", output)) if source[position:].strip() else len(output.rstrip())
    following = [word for word, (first, _) in enumerate(alignment.sources) if first >= position]
    if following and source[alignment.sources[following[0]][0]].isalnum():
        words = alignment.of_words(following[:1])
        if words:
            return alignment.targets[words[0]][0]
    previous = [word for word, (_, last) in enumerate(alignment.sources) if last <= position]
    words = alignment.of_words(previous[-1:])
    return alignment.targets[words[-1]][1] if words else len(output)


def _top(removed: Sequence[Removed], start: int, end: int) -> list[int]:
    """Those that are inside no other pair of this range; of a pair its first half."""
    indices, at = [], start
    while at < end:
        indices.append(at)
        pair = removed[at].pair
        at = at + 1 if pair is None else pair + 1
    return indices


def _insert(
    indices: Sequence[int],
    removed: Sequence[Removed],
    places: Sequence[Extent],
    bounds: Extent,
    inserted: list[tuple[int, Removed]],
) -> None:
    """One after another within the bounds, so that no pair crosses another."""
    cursor = bounds[0]
    for index in sorted(indices, key=lambda index: (places[index], index)):
        start = min(max(places[index][0], cursor), bounds[1])
        end = min(max(places[index][1], start), bounds[1])
        inserted.append((start, removed[index]))
        pair = removed[index].pair
        if pair is not None:
            _insert(_top(removed, index + 1, pair), removed, places, (start, end), inserted)
            inserted.append((end, removed[pair]))
        cursor = end


def _covers(words: Sequence[Extent], tokens: Sequence[Extent]) -> np.ndarray:
    """(words, tokens) 1 where a token is part of a word."""
    return np.array(
        [[float(first < end and start < last) for first, last in tokens] for start, end in words], np.float32
    ).reshape(len(words), len(tokens))
