"""Text ↔ ids. Every kind decodes to the exact text: what the vocabulary lacks is spelled in bytes."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import tokenizers
from tokenizers import decoders, pre_tokenizers

from regard.config.values import TokenizerKind
from regard.data.codec_file import codec_content, write_codec
from regard.data.masking import SYMBOL, PlaceholderSymbols
from regard.data.sources import Source, token_ids
from regard.data.vocabulary import (
    BOS,
    BYTES,
    EOS,
    PAD,
    SPECIALS,
    bpe_model,
    character_model,
    symbol_model,
    unigram_model,
    word_model,
)
from regard.errors import UserError

__all__ = ["BOS", "EOS", "PAD", "Tokenizer"]

SIZES: dict[str, int] = {
    "character": 8000,
    "decomposed": 8000,
    "symbol": 8000,
    "word": 16000,
    "bpe": 8000,
    "unigram": 8000,
}
# Below this many texts the threads of the library cost more than they bring. Above, the library uses every core
# (unless TOKENIZERS_PARALLELISM=false), except in a forked child, where it would block.
PARALLEL_FROM = 64
# Begins the ids of a text that is spelled as it is written, where its letters could not be put together again from
# their parts. No text has this byte: UTF-8 does not use it.
AS_WRITTEN = len(SPECIALS) + 0xFF


class Tokenizer:
    """A trained vocabulary of one kind. Ids 0, 1, 2 are PAD, BOS, EOS; no text ever becomes one of them.

    `placeholders`: the symbols, entries after all others, for the placeholders of masked texts (regard.data.masking).
    """

    end: tuple[int, ...] = (EOS,)

    def __init__(
        self, kind: TokenizerKind, engine: tokenizers.Tokenizer, placeholders: PlaceholderSymbols | None = None
    ) -> None:
        self.kind: TokenizerKind = kind
        self.engine = engine
        self.placeholders = placeholders
        self._texts: int = engine.get_vocab_size()  # the id of the first symbol
        symbols = placeholders.characters if placeholders else ()
        self.size: int = self._texts + len(symbols)
        self.placeholder_ids: dict[str, int] = {symbol: self._texts + i for i, symbol in enumerate(symbols)}
        self._readable: dict[int, str] = {}

    @classmethod
    def train(
        cls,
        texts: Sequence[str],
        kind: TokenizerKind,
        size: int | None = None,
        placeholders: PlaceholderSymbols | None = None,
    ) -> Tokenizer:
        """A vocabulary of at most `size` entries, and symbols, the same for the same texts, which may be masked."""
        if placeholders:
            texts = [part for text in texts for part in SYMBOL.split(text)[::2] if part]
        limit = SIZES[kind] if size is None else size
        least = len(SPECIALS) + len(BYTES)
        if limit < least:
            raise UserError(f"tokenizer.size = {limit} is below {least}: 256 bytes and 3 special tokens; raise it")
        match kind:
            case "character":
                model = character_model(texts, limit)
            case "decomposed":
                model = character_model((decompose(text) or text for text in texts), limit)
            case "symbol":
                model = symbol_model(texts, limit)
            case "word":
                model = word_model(texts, limit)
            case "bpe":
                model = bpe_model(texts, limit)
            case "unigram":
                model = unigram_model(texts, limit)
            case "sentencepiece":
                raise AssertionError("it is imported, not trained")
        engine = tokenizers.Tokenizer(model.engine)
        if model.splitter is not None:
            engine.pre_tokenizer = model.splitter
        if model.normalizer is not None:
            engine.normalizer = model.normalizer
        spelled = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        if kind == "symbol":  # without the space that was put before the text
            spelled = decoders.Sequence([spelled, decoders.Strip(" ", 1, 0)])
        engine.decoder = decoders.ByteLevel() if kind in ("bpe", "unigram") else spelled
        return cls(kind, engine, placeholders)

    def encode(self, text: str) -> list[int]:
        if not (self.placeholders and SYMBOL.search(text)):
            return self._encode(text)
        ids: list[int] = []
        for part in self._parts(text):
            ids += [self.placeholder_ids[part]] if part in self.placeholder_ids else self._encode(part)
        return ids

    def _encode(self, text: str) -> list[int]:
        if self.kind != "decomposed":
            return self.engine.encode(text, add_special_tokens=False).ids
        parts = decompose(text)
        ids = self.engine.encode(text if parts is None else parts, add_special_tokens=False).ids
        return [AS_WRITTEN, *ids] if parts is None else ids

    def _parts(self, text: str) -> Iterator[str]:
        """Each symbol of a masked text, and the texts between them."""
        return (part for part in SYMBOL.split(text) if part)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < PARALLEL_FROM or self.kind == "decomposed":
            return [self.encode(text) for text in texts]
        encodings = self.engine.encode_batch_fast(list(texts), add_special_tokens=False)
        if not self.placeholders:
            return [encoding.ids for encoding in encodings]
        return [
            self.encode(text) if SYMBOL.search(text) else encoding.ids
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text; special ids are dropped, bytes that are not UTF-8 become U+FFFD. Of masked texts with symbols."""
        plain = [int(i) for i in ids if i >= len(SPECIALS)]
        if not self.placeholders:
            return self._decode(plain)
        symbols = self.placeholders.characters
        runs = groupby(plain, key=lambda i: i >= self._texts)
        return "".join(
            "".join(symbols[i - self._texts] for i in run) if masked else self._decode(list(run))
            for masked, run in runs
        )

    def _decode(self, plain: list[int]) -> str:
        if self.kind != "decomposed":
            return self.engine.decode(plain, skip_special_tokens=False)
        if plain[:1] == [AS_WRITTEN]:
            return self.engine.decode(plain[1:], skip_special_tokens=False)
        return unicodedata.normalize("NFC", self.engine.decode(plain, skip_special_tokens=False))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One readable piece an id: its text, or its bytes as <0xE2> where they are no text alone."""
        return [self._readable.get(int(i)) or self._read(int(i)) for i in ids]

    def _read(self, i: int) -> str:
        if i < len(SPECIALS):
            return SPECIALS[i]
        if self.placeholders and self._texts <= i < self.size:
            return self.placeholders.names[i - self._texts]
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
        if not self.placeholders:
            return self._offsets(text)
        spans: list[tuple[int, int]] = []
        start = 0
        for part in self._parts(text):
            found = [(0, 1)] if part in self.placeholder_ids else self._offsets(part)
            spans += [(start + first, start + last) for first, last in found]
            start += len(part)
        return spans

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        if self.kind != "decomposed":
            return self.engine.encode(text, add_special_tokens=False).offsets
        parts = decompose(text)
        if parts is None:
            return [(0, 0), *self.engine.encode(text, add_special_tokens=False).offsets]
        owners = [index for index, letter in enumerate(text) for _ in unicodedata.normalize("NFD", letter)]
        spans = self.engine.encode(parts, add_special_tokens=False).offsets
        return [(owners[start], owners[start] + 1) for start, _ in spans]

    def source_tokens(self, source: Source) -> list[str]:
        """A readable token for each position that an encoder reads, the end of the sentence included."""
        return self.tokens([*token_ids(source), EOS])

    def same_as(self, other: object) -> bool:
        """Whether both give every text the same ids."""
        return (
            isinstance(other, Tokenizer)
            and (self.kind, self.placeholders) == (other.kind, other.placeholders)
            and self.engine.to_str() == other.engine.to_str()
        )

    def save(self, path: str | Path) -> None:
        placeholders = {"placeholders": asdict(self.placeholders)} if self.placeholders else {}
        write_codec(path, self.kind, engine=json.loads(self.engine.to_str()), **placeholders)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        with codec_content(path) as stored:
            kind: TokenizerKind = stored["kind"]
            if kind not in SIZES:
                raise UserError(f"{path} holds {kind!r}, not a tokenizer of one of the kinds {', '.join(SIZES)}")
            placeholders = PlaceholderSymbols(**stored["placeholders"]) if "placeholders" in stored else None
            return cls(kind, tokenizers.Tokenizer.from_str(json.dumps(stored["engine"])), placeholders)


def decompose(text: str) -> str | None:
    """Letters and accents, syllables of Hangul and their letters apart (NFD); None where composing does not give the
    text back."""
    parts = unicodedata.normalize("NFD", text)
    return parts if unicodedata.normalize("NFC", parts) == text else None


def _level_bytes() -> dict[str, int]:
    """The library's letter for each byte: printable Latin-1 stands for itself, the rest follows from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
    assert letters.keys() == set(pre_tokenizers.ByteLevel.alphabet())
    return letters


LEVEL_BYTES = _level_bytes()
