"""Our tokenizers as SentencePiece models, for programs that read nothing else.

A piece is a text there, with ▁ for the space; what is no text alone is spelled in bytes, <0xE2> and so on. So pieces
that hold a part of a character and more than a byte cannot be said and are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.sentencepiece.model_file import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNKNOWN,
    ModelPiece,
    NormalizerSpec,
    PieceModel,
)
from regard.data.tokenizer import LEVEL_BYTES, Tokenizer
from regard.data.vocabulary import BOS, BYTES, EOS, SPECIALS
from regard.errors import UserError
from regard.inference.ctranslate2.vocabularies import Entries

SAYABLE = ("bpe", "unigram", "character")  # kinds of tokenizers that SentencePiece has a model for
UNKNOWN_PIECE = "<unk>"
AS_IT_IS = NormalizerSpec(add_dummy_prefix=False, remove_extra_whitespaces=False)


@dataclass(frozen=True)
class WrittenPieces:
    """A SentencePiece model and which row of ours each of its pieces has."""

    model: PieceModel
    entries: Entries
    names: dict[int, str]  # our id → its piece; those that cannot be said are not there


def written_pieces(tokenizer: Tokenizer) -> WrittenPieces:
    """The pieces in the order of our ids after <unk>, <s> and </s>, then the bytes that are other pieces already.

    <unk> has no row: with all bytes at hand nothing is unknown. A byte that stands beside its character (<0x41> and A)
    has the same row and is never written.
    """
    if tokenizer.kind not in SAYABLE:
        kinds = ", ".join(SAYABLE[:-1]) + f" or {SAYABLE[-1]}"
        raise UserError(f"tokenizer.kind = {tokenizer.kind!r} has no form in SentencePiece; train with {kinds}")
    unigram = tokenizer.kind == "unigram"
    scores = _scores(tokenizer) if unigram else {}
    pieces = [ModelPiece(UNKNOWN_PIECE, 0, UNKNOWN), *(ModelPiece(SPECIALS[i], 0, CONTROL) for i in (BOS, EOS))]
    rows: list[int | None] = [None, BOS, EOS]
    taken = {piece.text for piece in pieces}
    names: dict[int, str] = {}
    bytes_rows: dict[str, int] = {}
    for i, raw in _spelled(tokenizer):
        byte = BYTES[raw[0]] if len(raw) == 1 else None
        first = byte is not None and bytes_rows.setdefault(byte, i) == i  # characters come after all bytes
        if byte and first and (tokenizer.kind == "character" or not 0x20 <= raw[0] < 0x80):
            text, score, kind = byte, 0.0, BYTE
        else:
            text, score, kind = _piece_text(raw), scores.get(i, -float(i)), NORMAL
        if text is None or text in taken or (kind == NORMAL and text in BYTES):
            continue
        taken.add(text)
        names[i] = text
        rows.append(i)
        pieces.append(ModelPiece(text, score, kind))
    silent = [1]  # <s>
    for byte in BYTES:
        if byte not in taken:
            silent.append(len(pieces))
            rows.append(bytes_rows[byte])
            pieces.append(ModelPiece(byte, 0, BYTE))
    model = PieceModel(pieces, "unigram" if unigram else "bpe", AS_IT_IS, byte_fallback=True)
    return WrittenPieces(model, Entries([piece.text for piece in pieces], rows, silent), names)


def _piece_text(raw: bytes) -> str | None:
    """As SentencePiece writes it; None: it has parts of characters, or the sign that stands for the space."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return None if SPACE in text else text.replace(" ", SPACE)


def _spelled(tokenizer: Tokenizer) -> Iterator[tuple[int, bytes]]:
    """Each id that stands for text, and its bytes."""
    for i in range(len(SPECIALS), tokenizer.engine.get_vocab_size()):
        piece: str = tokenizer.engine.id_to_token(i) or ""  # each id has one
        if tokenizer.kind != "character":
            yield i, bytes(LEVEL_BYTES[letter] for letter in piece)
        elif i < len(SPECIALS) + len(BYTES):
            yield i, bytes([i - len(SPECIALS)])
        else:
            yield i, piece.encode()


def _scores(tokenizer: Tokenizer) -> dict[int, float]:
    """Log probabilities of a unigram model's pieces."""
    vocabulary = json.loads(tokenizer.engine.to_str())["model"]["vocab"]
    return {i: score for i, (_, score) in enumerate(vocabulary)}
