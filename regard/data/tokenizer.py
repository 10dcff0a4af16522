"""Text ↔ ids. Every kind decodes to the exact text: what the vocabulary lacks is spelled in bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import tokenizers
from tokenizers import decoders, pre_tokenizers

from regard.data.codec_file import codec_content, write_codec
from regard.data.sources import Source, token_ids
from regard.data.vocabulary import (
    BOS,
    BYTES,
    EOS,
    PAD,
    SPECIALS,
    bpe_model,
    character_model,
    unigram_model,
    word_model,
)
from regard.errors import UserError

__all__ = ["BOS", "EOS", "PAD", "Tokenizer"]

TokenizerKind = Literal["character", "word", "bpe", "unigram"]
SIZES: dict[str, int] = {"character": 8000, "word": 16000, "bpe": 8000, "unigram": 8000}
# Below this many texts the threads of the library cost more than they bring. Above, the library uses every core
# (unless TOKENIZERS_PARALLELISM=false), except in a forked child, where it would block.
PARALLEL_FROM = 64


class Tokenizer:
    """A trained vocabulary of one kind. Ids 0, 1, 2 are PAD, BOS, EOS; no text ever becomes one of them."""

    end: tuple[int, ...] = (EOS,)

    def __init__(self, kind: TokenizerKind, engine: tokenizers.Tokenizer) -> None:
        self.kind: TokenizerKind = kind
        self.engine = engine
        self.size: int = engine.get_vocab_size()
        self._readable: dict[int, str] = {}

    @classmethod
    def train(cls, texts: Iterable[str], kind: TokenizerKind, size: int | None = None) -> Tokenizer:
        """A vocabulary of at most `size` entries, the same for the same texts."""
        limit = SIZES[kind] if size is None else size
        least = len(SPECIALS) + len(BYTES)
        if limit < least:
            raise UserError(f"tokenizer.size = {limit} is below {least}: 256 bytes and 3 special tokens; raise it")
        match kind:
            case "character":
                model = character_model(texts, limit)
            case "word":
                model = word_model(texts, limit)
            case "bpe":
                model = bpe_model(texts, limit)
            case "unigram":
                model = unigram_model(texts, limit)
        engine = tokenizers.Tokenizer(model.engine)
        if model.splitter is not None:
            engine.pre_tokenizer = model.splitter
        spelled = [decoders.ByteFallback(), decoders.Fuse()]
        engine.decoder = decoders.ByteLevel() if kind in ("bpe", "unigram") else decoders.Sequence(spelled)
        return cls(kind, engine)

    def encode(self, text: str) -> list[int]:
        return self.engine.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < PARALLEL_FROM:
            return [self.encode(text) for text in texts]
        return [encoding.ids for encoding in self.engine.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text; special ids are dropped, bytes that are not UTF-8 become U+FFFD."""
        return self.engine.decode([int(i) for i in ids if i >= len(SPECIALS)], skip_special_tokens=False)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One readable piece an id: its text, or its bytes as <0xE2> where they are no text alone."""
        return [self._readable.get(int(i)) or self._read(int(i)) for i in ids]

    def _read(self, i: int) -> str:
        if i < len(SPECIALS):
            return SPECIALS[i]
        raw = self._bytes(i)
        try:
            piece = raw.decode("utf-8")
        except UnicodeDecodeError:
            piece = "".join(f"<0x{byte:02X}>" for byte in raw)
        self._readable[i] = piece
        return piece

    def _bytes(self, i: int) -> bytes:
        piece: str | None = self.engine.id_to_token(i)
        if piece is None:
            raise ValueError(f"id {i} is not in a vocabulary of {self.size}")
        if self.kind in ("bpe", "unigram"):
            return bytes(LEVEL_BYTES[letter] for letter in piece)
        return bytes([i - len(SPECIALS)]) if i < len(SPECIALS) + len(BYTES) else piece.encode("utf-8")

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """First and past-last character of each token of `encode(text)`; bytes of one character share them."""
        return self.engine.encode(text, add_special_tokens=False).offsets

    def source_tokens(self, source: Source) -> list[str]:
        """A readable token for each position that an encoder reads, the end of the sentence included."""
        return self.tokens([*token_ids(source), EOS])

    def same_as(self, other: object) -> bool:
        """Whether both give every text the same ids."""
        return (
            isinstance(other, Tokenizer) and self.kind == other.kind and self.engine.to_str() == other.engine.to_str()
        )

    def save(self, path: str | Path) -> None:
        write_codec(path, self.kind, engine=json.loads(self.engine.to_str()))

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        with codec_content(path) as stored:
            kind: TokenizerKind = stored["kind"]
            if kind not in SIZES:
                raise UserError(f"{path} holds {kind!r}, not a tokenizer of one of the kinds {', '.join(SIZES)}")
            return cls(kind, tokenizers.Tokenizer.from_str(json.dumps(stored["engine"])))


def _level_bytes() -> dict[str, int]:
    """The library's letter for each byte: printable Latin-1 stands for itself, the rest follows from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
    assert letters.keys() == set(pre_tokenizers.ByteLevel.alphabet())
    return letters


LEVEL_BYTES = _level_bytes()
