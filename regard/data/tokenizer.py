"""Text ↔ ids. Every kind gives every text back exactly: what the vocabulary lacks is spelled in bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import tokenizers
from tokenizers import decoders, pre_tokenizers

from regard.data.vocabulary import BYTES, SPECIALS, bpe_model, character_model, unigram_model, word_model
from regard.errors import UserError
from regard.files import write_text

PAD, BOS, EOS = 0, 1, 2
Kind = Literal["character", "word", "bpe", "unigram"]
SIZES: dict[str, int] = {"character": 8000, "word": 16000, "bpe": 8000, "unigram": 8000}
FORMAT = 1
# Below this many texts the threads of the library cost more than they bring. Above, the library uses every core
# (unless TOKENIZERS_PARALLELISM=false), and by itself stops doing so in a forked child, where it would hang.
PARALLEL_FROM = 64


class Tokenizer:
    """A trained vocabulary of one kind. Ids 0, 1, 2 are PAD, BOS, EOS; no text ever becomes one of them."""

    def __init__(self, kind: Kind, engine: tokenizers.Tokenizer) -> None:
        self.kind: Kind = kind
        self.engine = engine
        self.size: int = engine.get_vocab_size()
        self._readable: dict[int, str] = {}

    @classmethod
    def train(cls, texts: Iterable[str], kind: Kind, size: int | None = None) -> Tokenizer:
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
        """First and past-last character of each token of `encode(text)`; bytes of one character share its place."""
        return self.engine.encode(text, add_special_tokens=False).offsets

    def same_as(self, other: Tokenizer) -> bool:
        """Whether both give every text the same ids."""
        return self.kind == other.kind and self.engine.to_str() == other.engine.to_str()

    def save(self, path: str | Path) -> None:
        engine = json.loads(self.engine.to_str())
        _write(Path(path), {"format": FORMAT, "kind": self.kind, "engine": engine})

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        loaded = load_tokenizer(path)
        if not isinstance(loaded, Tokenizer):
            raise UserError(f"{path} holds class labels, not a tokenizer")
        return loaded


class ClassLabels:
    """Class names ↔ ids from 0, behind the tokenizer's interface. There are no special ids."""

    kind = "labels"

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = len(self.names)
        self._ids = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def train(cls, texts: Iterable[str]) -> ClassLabels:
        return cls(sorted(set(texts)))

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

    def save(self, path: str | Path) -> None:
        _write(Path(path), {"format": FORMAT, "kind": "labels", "names": self.names})

    @classmethod
    def load(cls, path: str | Path) -> ClassLabels:
        loaded = load_tokenizer(path)
        if not isinstance(loaded, ClassLabels):
            raise UserError(f"{path} holds a tokenizer, not class labels")
        return loaded


def load_tokenizer(path: str | Path) -> Tokenizer | ClassLabels:
    """What `save` wrote, of whichever kind."""
    try:
        stored: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise UserError(f"{path}: tokenizer format {stored['format']}, but this regard reads format {FORMAT}")
        if stored["kind"] == "labels":
            return ClassLabels(stored["names"])
        kind: Kind = stored["kind"]
        if kind not in SIZES:
            raise UserError(f"{path}: unknown kind of tokenizer {kind!r}")
        return Tokenizer(kind, tokenizers.Tokenizer.from_str(json.dumps(stored["engine"])))
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot read the tokenizer: {error.strerror}") from None
    except Exception as error:  # the library raises plain Exception for a damaged model
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a tokenizer of regard, or is damaged: {reason}") from None


def _write(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False))


def _level_bytes() -> dict[str, int]:
    """The library's letter for each byte: printable Latin-1 stands for itself, the rest follows from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
    assert letters.keys() == set(pre_tokenizers.ByteLevel.alphabet())
    return letters


LEVEL_BYTES = _level_bytes()
