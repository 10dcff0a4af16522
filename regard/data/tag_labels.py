"""Tags ↔ ids from 0, one a word: the target codec of a tagger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.codec_file import codec_content, write_codec
from regard.data.whole_words import words_of
from regard.errors import UserError


class TagLabels:
    """A text of tags is a row of ids. There are no special ids: a sentence has as many tags as words."""

    kind = "tags"
    end: tuple[int, ...] = ()

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = len(self.names)
        self._ids = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def train(cls, texts: Iterable[str]) -> TagLabels:
        return cls(sorted({tag for text in texts for tag in words_of(text)}))

    def knows(self, text: str) -> bool:
        """Whether all tags of a text are known."""
        return all(tag in self._ids for tag in words_of(text))

    def encode(self, text: str) -> list[int]:
        for tag in words_of(text):
            if tag not in self._ids:
                some = ", ".join(self.names[:8]) + (", …" if self.size > 8 else "")
                raise UserError(f"tag {tag!r} does not occur in the training data; its tags: {some}")
        return [self._ids[tag] for tag in words_of(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.names[i] for i in ids)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.names[i] for i in ids]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        spans, start = [], 0
        for tag in words_of(text):
            start = text.index(tag, start)
            spans.append((start, start + len(tag)))
            start += len(tag)
        return spans

    def same_as(self, other: object) -> bool:
        return isinstance(other, TagLabels) and self.names == other.names

    def save(self, path: str | Path) -> None:
        write_codec(path, self.kind, names=self.names)

    @classmethod
    def load(cls, path: str | Path) -> TagLabels:
        with codec_content(path) as stored:
            if stored["kind"] != cls.kind:
                raise UserError(f"{path} holds {stored['kind']!r}, not tags")
            return cls(stored["names"])
