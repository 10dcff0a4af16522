"""SentencePiece's model file (sentencepiece_model.proto): pieces, how text is normalized, and how it is segmented."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.data.sentencepiece.protobuf import bytes_field, float_field, integer_field, read_fields
from regard.errors import UserError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of pieces
ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
SPACE = "▁"


@dataclass(frozen=True)
class ModelPiece:
    """An entry of the vocabulary; its id is its place."""

    text: str
    score: float
    type: int = NORMAL


@dataclass(frozen=True)
class NormalizerSpec:
    """What is done to a text before it is segmented. `charsmap`: a trie of replacements, as it is stored."""

    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


@dataclass(frozen=True)
class PieceModel:
    """What SentencePiece knows of a trained model."""

    pieces: Sequence[ModelPiece]
    algorithm: Literal["unigram", "bpe"]
    normalizer: NormalizerSpec = NormalizerSpec()
    byte_fallback: bool = False
    whitespace_as_suffix: bool = False
    unknown_surface: str = " ⁇ "

    @property
    def unknown(self) -> int:
        """The id of the piece that stands for what no piece can spell."""
        return next(i for i, piece in enumerate(self.pieces) if piece.type == UNKNOWN)


def parse_model(data: bytes, where: str) -> PieceModel:
    """A model file's content. `where` is named in errors."""
    try:
        fields = list(read_fields(data))
        pieces = [_piece(value) for number, value in fields if number == 1]
        trainer = _record([value for number, value in fields if number == 2])
        normalizer = _normalizer(_record([value for number, value in fields if number == 3]))
        denormalizer = _record([value for number, value in fields if number == 5])
    except (ValueError, TypeError, struct.error) as error:
        raise UserError(
            f"{where} is not a SentencePiece model ({error}); give the file that its trainer wrote"
        ) from None
    if sum(piece.type == UNKNOWN for piece in pieces) != 1:
        raise UserError(f"{where} is not a SentencePiece model: one piece must be the unknown one; restore the file")
    algorithm = ALGORITHMS.get(_integer(trainer.get(3, 1)), "unknown")
    if algorithm not in ("unigram", "bpe"):
        raise UserError(f"{where} segments by {algorithm!r}; unigram and bpe are supported")
    if denormalizer.get(2):
        raise UserError(f"{where} has rules for its outputs (denormalizer), which are not supported; train one without")
    surface = trainer.get(44, b" \xe2\x81\x87 ")
    return PieceModel(
        pieces,
        "bpe" if algorithm == "bpe" else "unigram",
        normalizer,
        bool(trainer.get(35, 0)),
        bool(trainer.get(24, 0)),
        surface.decode() if isinstance(surface, bytes) else " ⁇ ",
    )


def model_bytes(model: PieceModel) -> bytes:
    """The content of a model file that SentencePiece reads as this model."""
    parts = [
        bytes_field(1, bytes_field(1, piece.text) + float_field(2, piece.score) + integer_field(3, piece.type))
        for piece in model.pieces
    ]
    special = {text: i for i, text in enumerate(piece.text for piece in model.pieces)}
    trainer = integer_field(3, 1 if model.algorithm == "unigram" else 2) + integer_field(4, len(model.pieces))
    trainer += integer_field(24, model.whitespace_as_suffix) + integer_field(35, model.byte_fallback)
    trainer += integer_field(40, model.unknown)
    for number, mark in ((41, "<s>"), (42, "</s>")):
        if mark in special:
            trainer += integer_field(number, special[mark])
    trainer += bytes_field(44, model.unknown_surface)
    trainer += bytes_field(45, model.pieces[model.unknown].text)
    rules = model.normalizer
    normalizer = bytes_field(1, "own" if rules.charsmap else "identity") + bytes_field(2, rules.charsmap)
    normalizer += integer_field(3, rules.add_dummy_prefix) + integer_field(4, rules.remove_extra_whitespaces)
    normalizer += integer_field(5, rules.escape_whitespaces)
    return b"".join(parts) + bytes_field(2, trainer) + bytes_field(3, normalizer)


def _piece(message: int | bytes) -> ModelPiece:
    fields = _record([message])
    text, score = fields.get(1, b""), fields.get(2, b"\0\0\0\0")
    if not isinstance(text, bytes) or not isinstance(score, bytes):
        raise ValueError("a piece has another form")
    return ModelPiece(text.decode(), struct.unpack("<f", score)[0], _integer(fields.get(3, NORMAL)))


def _normalizer(fields: dict[int, int | bytes]) -> NormalizerSpec:
    charsmap = fields.get(2, b"")
    if not isinstance(charsmap, bytes):
        raise ValueError("its normalizer has another form")
    return NormalizerSpec(charsmap, bool(fields.get(3, 1)), bool(fields.get(4, 1)), bool(fields.get(5, 1)))


def _record(messages: list[int | bytes]) -> dict[int, int | bytes]:
    """The last value of each field."""
    fields: dict[int, int | bytes] = {}
    for message in messages:
        if not isinstance(message, bytes):
            raise ValueError("a message is a number")
        fields |= dict(read_fields(message))
    return fields


def _integer(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("a number is a text")
    return value
