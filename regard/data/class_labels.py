"""Class names ↔ ids from 0: the target codec of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.codec_file import codec_content, write_codec
from regard.errors import UserError


class ClassLabels:
    """Each name is one id. There are no special ids, and no end of the sentence."""

    kind = "labels"
    end: tuple[int, ...] = ()

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = len(self.names)
        self._ids = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def train(cls, texts: Iterable[str]) -> ClassLabels:
        return cls(sorted(set(texts)))

    def knows(self, text: str) -> bool:
        return text in self._ids

    def encode(self, text: str) -> list[int]:
        if text not in self._ids:
            some = ", ".join(self.names[:8]) + (", …" if self.size > 8 else "")
            raise UserError(f"class {text!r} does not occur in the training data; its classes: {some}")
        return [self._ids[text]]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.names[i] for i in ids)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.names[i] for i in ids]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    def same_as(self, other: object) -> bool:
        return isinstance(other, ClassLabels) and self.names == other.names

    def save(self, path: str | Path) -> None:
        write_codec(path, self.kind, names=self.names)

    @classmethod
    def load(cls, path: str | Path) -> ClassLabels:
        with codec_content(path) as stored:
            if stored["kind"] != cls.kind:
                raise UserError(f"{path} holds a tokenizer, not class labels")
            return cls(stored["names"])
