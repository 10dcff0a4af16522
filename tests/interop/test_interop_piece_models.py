"""SentencePiece, given our pieces, cuts and joins texts as our tokenizers do."""

from __future__ import annotations

import pytest

from regard.config.values import TokenizerKind
from regard.data.sentencepiece.model_file import BYTE, model_bytes
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError
from regard.interop.piece_models import written_pieces

TEXTS = [
    f"{a} {b}, {a}{c}! é é" for a in ("the", "old", "under") for b in ("cat", "naif", "42") for c in ("s", "ing", "")
]
HOSTILE = ["", " ", "  two  spaces ", "tab\tand\nline", "Ж日本 🎉", "<0x41> </s> <unk>", "<s>", "a_b", "\x00\x7f"]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "character"])
def test_pieces_and_texts_are_ours(kind: TokenizerKind) -> None:
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    tokenizer = Tokenizer.train(TEXTS, kind, 300)
    written = written_pieces(tokenizer)
    processor = spm.SentencePieceProcessor(model_proto=model_bytes(written.model))
    assert [processor.id_to_piece(i) for i in range(len(processor))] == list(written.entries.names)
    assert (processor.unk_id(), processor.bos_id(), processor.eos_id()) == (0, 1, 2)
    for text in [*TEXTS, *HOSTILE]:
        pieces = processor.encode(text, out_type=str)
        assert pieces == [written.names[i] for i in tokenizer.encode(text)]
        assert processor.decode_pieces(pieces) == text


def test_each_piece_has_the_row_of_ours_and_a_doubled_byte_is_never_written() -> None:
    tokenizer = Tokenizer.train(TEXTS, "bpe", 300)
    written = written_pieces(tokenizer)
    entries = written.entries
    assert entries.rows[:3] == [None, 1, 2]
    assert {name: row for name, row in zip(entries.names, entries.rows, strict=True) if row and row > 2}.items() >= {
        name: i for i, name in written.names.items()
    }.items()
    letter, doubled = entries.names.index("A"), entries.names.index("<0x41>")
    assert entries.rows[letter] == entries.rows[doubled] is not None
    assert doubled in entries.silent and letter not in entries.silent
    assert len(set(entries.names)) == len(entries.names)
    assert sum(piece.type == BYTE for piece in written.model.pieces) == 256


def test_a_part_of_a_character_is_left_out() -> None:
    tokenizer = Tokenizer.train(["日木 月木 日月"] * 9, "bpe", 266)
    written = written_pieces(tokenizer)
    left = [tokenizer.tokens([i])[0] for i in range(3, tokenizer.size) if i not in written.names]
    assert left and all("<0x" in piece for piece in left)


def test_other_kinds_are_refused() -> None:
    with pytest.raises(UserError, match=r"tokenizer.kind = 'word' has no form.*bpe, unigram or character"):
        written_pieces(Tokenizer.train(TEXTS, "word", 300))
