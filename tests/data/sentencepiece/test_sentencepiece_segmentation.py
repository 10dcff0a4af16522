"""SentencePiece's own pieces, on texts made to be hard."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest

from regard.data.sentencepiece import SentencePieceTokenizer

spm = pytest.importorskip("sentencepiece", reason="the extra [interop] is not installed")
ROOT = Path(__file__).parents[3]
PROSE = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").split("\n") if line.strip()]
PROSE += ["Ünïcödé façade naïve ﬁne ½ Ⅷ ™ 日本語テスト ガギグ ｶﾞ 한국어 각", "Привет мир ёлка", "مرحبا", "हिन्दी में"] * 5
PROSE += ["e\u0301le\u0300ve A\u030a"] * 5
RANGES = [(1, 0x250), (0x300, 0x370), (0x400, 0x460), (0x900, 0x950), (0x1100, 0x1200), (0x1E00, 0x1F00)]
RANGES += [(0x2000, 0x2070), (0x2100, 0x2190), (0x2580, 0x2590), (0x3000, 0x3100), (0xAC00, 0xAC80), (0xFF00, 0xFFEF)]
POOL = [chr(code) for first, past in RANGES for code in range(first, past)] + ["\U0001f600", "\u200d", "\ufe0f", "𝐀"]
INSERTED = [*POOL, " ", "\t", "\u3000", "▁", "<0x41>", "<s>", "</s>", "<unk>", "\u00a0"]
REPEATED = ["a", "ab", "  ", "▁", "▁a", "1", "..", "e\u0301", "の", "A\u030a ", "=-"]


def hostile(count: int, seed: int) -> list[str]:
    """Random characters, repetitions with many equally good segmentations, prose with strange things in it."""
    draw = random.Random(seed)

    def spoiled() -> str:
        letters = list(draw.choice(PROSE))
        for _ in range(draw.randint(1, 8)):
            letters.insert(draw.randrange(len(letters) + 1), draw.choice(INSERTED))
        return "".join(letters)

    kinds = [
        lambda: "".join(draw.choice(POOL) for _ in range(draw.randint(0, 40))),
        lambda: draw.choice(PROSE),
        lambda: draw.choice(REPEATED) * draw.randint(1, 60),
        spoiled,
        lambda: " ".join(draw.choice(PROSE).split(" ")[::-1]) + " " * draw.randint(0, 3),
        lambda: " " * draw.randint(0, 4) + draw.choice(PROSE)[: draw.randint(0, 30)] + "  " * draw.randint(0, 3),
        lambda: "".join(draw.choice("ab e1.▁ ") for _ in range(draw.randint(0, 80))),
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


def trained(**options: Any) -> tuple[Any, SentencePieceTokenizer]:
    """SentencePiece's processor, and ours of the same file."""
    buffer = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(PROSE * 2), model_writer=buffer, vocab_size=900, hard_vocab_limit=False,
        character_coverage=0.98, minloglevel=2, num_threads=1, **options,
    )  # fmt: skip
    processor = spm.SentencePieceProcessor(model_proto=buffer.getvalue())
    names = ["<pad>", "<s>", "</s>", *(processor.id_to_piece(i) for i in range(len(processor)))]
    return processor, SentencePieceTokenizer(buffer.getvalue(), names)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"model_type": "unigram"}, 10_000),
        ({"model_type": "bpe"}, 10_000),
        ({"model_type": "unigram", "byte_fallback": True}, 700),
        ({"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}, 700),
        ({"model_type": "unigram", "add_dummy_prefix": False, "remove_extra_whitespaces": False}, 700),
        ({"model_type": "unigram", "normalization_rule_name": "nfkc_cf", "split_by_whitespace": False}, 700),
        ({"model_type": "bpe", "user_defined_symbols": ["<x>", "the", "##"]}, 700),
    ],
    ids=str,
)
def test_pieces_ids_and_texts_are_sentencepieces(options: dict[str, Any], count: int) -> None:
    theirs, ours = trained(**options)
    lines = hostile(count, seed=len(str(options)))
    for line, pieces, ids in zip(lines, theirs.encode(lines, out_type=str), theirs.encode(lines), strict=True):
        assert ours.pieces(line) == list(zip(pieces, ids, strict=True)), line
        assert ours.encode(line) == [i + 3 for i in ids]
        assert ours.decode(i + 3 for i in ids) == theirs.decode(ids), line
    for line in lines[:300]:
        normalized, places = ours.normalizer.aligned(line)
        assert normalized == ours.normalizer(line) and len(places) == len(normalized)
        spans = ours.offsets(line)
        assert len(spans) == len(ours.encode(line)) and all(0 <= a <= b <= len(line) for a, b in spans)


def test_a_whole_text_in_float32_is_its_words_where_they_are_clear() -> None:
    theirs, ours = trained(model_type="unigram")
    segmenter = ours._segment
    assert segmenter._by_words
    segmenter._by_words = False
    for line in hostile(300, 4):
        assert [piece for piece, _ in ours.pieces(line)] == theirs.encode(line, out_type=str)
