"""A SentencePiece model as a codec: our marks first, labels of languages, offsets, a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.data.codecs import same_vocabulary
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.sentencepiece.model_file import CONTROL, UNKNOWN, ModelPiece, NormalizerSpec, PieceModel, model_bytes
from regard.errors import UserError

TEXTS = ["▁", "a", "b", "c", "▁ab", "bc"]
PIECES = [ModelPiece("<unk>", 0.0, UNKNOWN), ModelPiece("</s>", 0.0, CONTROL)]
PIECES += [ModelPiece(text, -1.0 - i / 8) for i, text in enumerate(TEXTS)]
MODEL = PieceModel(PIECES, "unigram", NormalizerSpec())
NAMES = ["<pad>", "<s>", "</s>", "<unk>", ">>fr<<", *TEXTS, "only here"]


@pytest.fixture
def codec() -> SentencePieceTokenizer:
    return SentencePieceTokenizer(model_bytes(MODEL), NAMES)


def test_ids_are_those_of_the_vocabulary(codec: SentencePieceTokenizer) -> None:
    assert codec.tokens(codec.encode("ab  bc")) == [" ab", " ", "bc"]
    assert codec.encode("axx") == [NAMES.index("▁"), NAMES.index("a"), 3]
    assert codec.decode(codec.encode("ab  bc")) == "ab bc"
    assert codec.decode([0, 1, *codec.encode("ax"), 2]) == "a ⁇ "
    assert codec.encode("</s> <pad>")[0] == NAMES.index("▁") and 2 not in codec.encode("</s> <pad>")
    assert codec.source_tokens(codec.encode("ab")) == [" ab", "</s>"]


def test_a_label_that_is_known_is_one_id(codec: SentencePieceTokenizer) -> None:
    assert codec.encode(">>fr<< ab") == [4, NAMES.index("▁ab")]
    assert codec.encode(">>de<< ab")[0] != 4 and codec.encode("ab >>fr<<")[0] == NAMES.index("▁ab")
    assert codec.decode([4, NAMES.index("▁ab")]) == "ab"
    assert codec.offsets(">>fr<< ab") == [(0, 6), (7, 9)]


def test_offsets_are_of_the_text_as_it_was(codec: SentencePieceTokenizer) -> None:
    text = "  ab   bc x"
    parts = [text[start:end] for start, end in codec.offsets(text)]
    assert [part.strip() for part in parts] == ["ab", "", "bc", "", "x"]


def test_it_is_saved_and_loaded(codec: SentencePieceTokenizer, tmp_path: Path) -> None:
    codec.save(tmp_path / "x.json")
    again = SentencePieceTokenizer.load(tmp_path / "x.json")
    assert again.same_as(codec) and again.encode("ab bc") == codec.encode("ab bc")
    other = SentencePieceTokenizer(model_bytes(MODEL), NAMES[:-1])
    assert not other.same_as(codec) and same_vocabulary(codec, again) and not same_vocabulary(codec, other)
    (tmp_path / "x.json").write_text(json.dumps({"format": 1, "kind": "bpe"}))
    with pytest.raises(UserError, match="holds 'bpe'"):
        SentencePieceTokenizer.load(tmp_path / "x.json")
    with pytest.raises(UserError, match="has no '<unk>'"):
        SentencePieceTokenizer(model_bytes(MODEL), NAMES[:3])
