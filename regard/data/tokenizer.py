"""Text ↔ ids. Every kind decodes to the exact text: what the vocabulary lacks is spelled in bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Literal

import tokenizers
from tokenizers import decoders, pre_tokenizers

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
    """A trained vocabulary of one kind. Ids 0, 1, 2 are PAD, BOS, EOS; no text ever becomes one of them.

    `symbols`: entries after all others, for the placeholders of masked texts (regard.data.masking).
    """

    end: tuple[int, ...] = (EOS,)

    def __init__(
        self, kind: TokenizerKind, engine: tokenizers.Tokenizer, symbols: PlaceholderSymbols | None = None
    ) -> None:
        self.kind: TokenizerKind = kind
        self.engine = engine
        self.symbols = symbols
        self._texts: int = engine.get_vocab_size()  # the first symbol
        characters = symbols.characters if symbols else ()
        self.size: int = self._texts + len(characters)
        self.symbol_ids: dict[str, int] = {character: self._texts + i for i, character in enumerate(characters)}
        self._characters = characters
        self._readable: dict[int, str] = {}

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        kind: TokenizerKind,
        size: int | None = None,
        symbols: PlaceholderSymbols | None = None,
    ) -> Tokenizer:
        """A vocabulary of at most `size` entries, and symbols, the same for the same texts, which may be masked."""
        if symbols:
            texts = [part for text in texts for part in SYMBOL.split(text)[::2] if part]
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
        return cls(kind, engine, symbols)

    def encode(self, text: str) -> list[int]:
        if self.symbols and SYMBOL.search(text):
            return [i for part in self._parts(text) for i in self._encoded(part)]
        return self.engine.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < PARALLEL_FROM:
            return [self.encode(text) for text in texts]
        encodings = self.engine.encode_batch_fast(list(texts), add_special_tokens=False)
        if not self.symbols:
            return [encoding.ids for encoding in encodings]
        return [
            self.encode(text) if SYMBOL.search(text) else encoding.ids
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text; special ids are dropped, bytes that are not UTF-8 become U+FFFD. Symbols are their characters."""
        kept = [int(i) for i in ids if i >= len(SPECIALS)]
        if not self.symbols or max(kept, default=0) < self._texts:
            return self.engine.decode(kept, skip_special_tokens=False)
        runs = groupby(kept, key=lambda i: i >= self._texts)
        return "".join(
            "".join(self._characters[i - self._texts] for i in run)
            if symbols
            else self.engine.decode(list(run), skip_special_tokens=False)
            for symbols, run in runs
        )

    def _parts(self, text: str) -> Iterator[str]:
        """Each symbol, and the texts between them."""
        return (part for part in SYMBOL.split(text) if part)

    def _encoded(self, part: str) -> list[int]:
        known = self.symbol_ids.get(part)
        return [known] if known is not None else self.engine.encode(part, add_special_tokens=False).ids

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One readable piece an id: its text, or its bytes as <0xE2> where they are no text alone."""
        return [self._readable.get(int(i)) or self._read(int(i)) for i in ids]

    def _read(self, i: int) -> str:
        if i < len(SPECIALS):
            return SPECIALS[i]
        if self.symbols and self._texts <= i < self.size:
            return self.symbols.names[i - self._texts]
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
        spans: list[tuple[int, int]] = []
        start = 0
        for part in self._parts(text) if self.symbols else [text]:
            if part in self.symbol_ids:
                spans.append((start, start + 1))
            else:
                found = self.engine.encode(part, add_special_tokens=False).offsets
                spans += [(start + first, start + last) for first, last in found]
            start += len(part)
        return spans

    def source_tokens(self, source: Source) -> list[str]:
        """A readable token for each position that an encoder reads, the end of the sentence included."""
        return self.tokens([*token_ids(source), EOS])

    def same_as(self, other: object) -> bool:
        """Whether both give every text the same ids."""
        return (
            isinstance(other, Tokenizer)
            and (self.kind, self.symbols) == (other.kind, other.symbols)
            and self.engine.to_str() == other.engine.to_str()
        )

    def save(self, path: str | Path) -> None:
        symbols = {"symbols": asdict(self.symbols)} if self.symbols else {}
        write_codec(path, self.kind, engine=json.loads(self.engine.to_str()), **symbols)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        with codec_content(path) as stored:
            kind: TokenizerKind = stored["kind"]
            if kind not in SIZES:
                raise UserError(f"{path} holds {kind!r}, not a tokenizer of one of the kinds {', '.join(SIZES)}")
            symbols = PlaceholderSymbols(**stored["symbols"]) if "symbols" in stored else None
            return cls(kind, tokenizers.Tokenizer.from_str(json.dumps(stored["engine"])), symbols)


def _level_bytes() -> dict[str, int]:
    """The library's letter for each byte: printable Latin-1 stands for itself, the rest follows from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
    assert letters.keys() == set(pre_tokenizers.ByteLevel.alphabet())
    return letters


LEVEL_BYTES = _level_bytes()
