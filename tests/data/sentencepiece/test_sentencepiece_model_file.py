"""SentencePiece's file is read and written; what is no such file is refused in a line."""

from __future__ import annotations

import pytest

from regard.data.sentencepiece.model_file import (
    UNKNOWN,
    ModelPiece,
    NormalizerSpec,
    PieceModel,
    model_bytes,
    parse_model,
)
from regard.data.sentencepiece.protobuf import bytes_field, integer_field, read_fields
from regard.errors import UserError

PIECES = [ModelPiece("<unk>", 0.0, UNKNOWN), ModelPiece("▁a", -1.5), ModelPiece("日", -2.25)]
MODEL = PieceModel(PIECES, "bpe", NormalizerSpec(b"", False, False, True), True, True, "?")


def test_what_is_written_is_read() -> None:
    assert parse_model(model_bytes(MODEL), "x") == MODEL
    assert PieceModel(PIECES, "unigram").unknown == 0


def test_sentencepiece_reads_it() -> None:
    spm = pytest.importorskip("sentencepiece", reason="the extra [interop] is not installed")
    processor = spm.SentencePieceProcessor(model_proto=model_bytes(PieceModel(PIECES, "unigram")))
    assert processor.encode("a日", out_type=str) == ["▁a", "日"] and processor.unk_id() == 0


def test_other_files_are_refused() -> None:
    whole = model_bytes(MODEL)
    for data in (b"hello, world", whole[:-3], b"\xff" * 40):
        with pytest.raises(UserError, match="x is not a SentencePiece model"):
            parse_model(data, "x")
    with pytest.raises(UserError, match="one piece must be the unknown one"):
        parse_model(model_bytes(PieceModel(PIECES, "unigram"))[0:0], "x")
    words = whole + bytes_field(2, integer_field(3, 3))
    with pytest.raises(UserError, match="segments by 'word'; unigram and bpe"):
        parse_model(words, "x")
    with pytest.raises(UserError, match="denormalizer"):
        parse_model(whole + bytes_field(5, bytes_field(2, b"rules")), "x")


def test_integers_of_any_size() -> None:
    for value in (0, 1, 127, 128, 300, 2**31, 2**63):
        assert list(read_fields(integer_field(7, value))) == [(7, value)]
