"""Words ↔ ids, one a word: the source codec of a tagger, whose labels belong to words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.codec_file import codec_content, write_codec
from regard.data.sources import Source, token_ids
from regard.data.vocabulary import EOS, SPECIALS, WORD_AT_LEAST
from regard.errors import UserError

SPACES = re.compile(r"[^ \t\r\n]+")  # a no-break space is part of a word, as in the forms of CoNLL-U
MOST_WORDS = 16_000
ENDING = 3  # letters of an unknown word that are kept
OTHER = "<…>"


def words_of(text: str) -> list[str]:
    """The words of a text, which spaces part."""
    return SPACES.findall(text)


def outline(word: str) -> str:
    """What an unknown word is read as: whether it begins with a capital or holds a digit, and its last letters."""
    if any(map(str.isdigit, word)):
        return "<0>"
    return f"<{'A' if word[0].isupper() else 'a'}…{word[-ENDING:].lower()}>"


class WholeWords:
    """Words seen twice or more have ids of their own. Others are read by their outline (Petrov 2006): words seen once
    teach what outlines mean, and an outline that was never seen is `<…>`."""

    kind = "words"
    end: tuple[int, ...] = (EOS,)

    def __init__(self, entries: Sequence[str]) -> None:
        self.entries = list(entries)
        self.size = len(self.entries)
        self._ids = {entry: i for i, entry in enumerate(self.entries) if i >= len(SPECIALS)}

    @classmethod
    def train(cls, texts: Iterable[str], size: int | None = None) -> WholeWords:
        words = Counter(word for text in texts for word in words_of(text))
        often = sorted((word for word in words if words[word] >= WORD_AT_LEAST), key=lambda word: (-words[word], word))
        kept = often[: (size or MOST_WORDS) - len(SPECIALS) - 1]
        outlines = sorted({outline(word) for word in words.keys() - set(kept)} - set(kept) - {OTHER})
        return cls([*SPECIALS, OTHER, *outlines, *(word for word in kept if word != OTHER)])

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(word) or self._ids.get(outline(word)) or self._ids[OTHER] for word in words_of(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def knows(self, word: str) -> bool:
        """Whether the word has an id of its own."""
        return word in self._ids

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.entries[i] for i in ids]

    def source_tokens(self, source: Source) -> list[str]:
        """A word for each position that the encoder reads, with the space before it, and the end of the sentence."""
        first, *others = self.tokens([*token_ids(source), EOS])
        return [first, *(entry if entry in SPECIALS else f" {entry}" for entry in others)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in SPACES.finditer(text)]

    def same_as(self, other: object) -> bool:
        return isinstance(other, WholeWords) and self.entries == other.entries

    def save(self, path: str | Path) -> None:
        write_codec(path, self.kind, entries=self.entries)

    @classmethod
    def load(cls, path: str | Path) -> WholeWords:
        with codec_content(path) as stored:
            if stored["kind"] != cls.kind:
                raise UserError(f"{path} holds {stored['kind']!r}, not the words of a tagger")
            return cls(stored["entries"])
