"""Every kind of tokenizer gives back every text, keeps special ids out of text, and trains the same every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.data.class_labels import ClassLabels
from regard.data.tokenizer import BOS, EOS, PAD, Tokenizer
from regard.errors import UserError

KINDS = ("character", "decomposed", "symbol", "word", "bpe", "unigram")
TEXTS = [
    "Saturday, August 15, 1992",
    "samedi 15 août 1992",
    "1992年8月15日土曜日",
    "The cat sat on the mat. The cat sat.",
    "  two  spaces and\ta tab\r\nand lines\n",
    "<pad> <s> </s> <0x41>",
] * 3
TRAINED = {kind: Tokenizer.train(TEXTS, kind, 500) for kind in KINDS}
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT)
@example(text="<pad><s></s>")
@example(text=" <s> <0x41>\u2028\u0085\x00🏳️‍🌈 é é")
@example(text="   ")
@example(text="")
def test_round_trip(kind: str, text: str) -> None:
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(id_ > EOS for id_ in ids)
    assert all(id_ < tokenizer.size for id_ in ids)
    assert len(tokenizer.tokens(ids)) == len(ids)
    assert tokenizer.source_tokens(ids) == [*tokenizer.tokens(ids), "</s>"]
    offsets = tokenizer.offsets(text)
    assert len(offsets) == len(ids)
    covered = {index for start, end in offsets for index in range(start, end)}
    assert covered == set(range(len(text)))


@pytest.mark.parametrize("kind", KINDS)
def test_batch_equals_one_by_one_and_specials_are_dropped(kind: str) -> None:
    tokenizer = TRAINED[kind]
    many = [f"{text} {n}" for n in range(30) for text in TEXTS]
    assert len(many) > 64
    assert tokenizer.encode_batch(many) == [tokenizer.encode(text) for text in many]
    assert tokenizer.encode_batch(many[:3]) == [tokenizer.encode(text) for text in many[:3]]
    assert tokenizer.decode([BOS, *tokenizer.encode("août 7"), EOS, PAD, PAD]) == "août 7"


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind: str, tmp_path: Path) -> None:
    TRAINED[kind].save(tmp_path / "t.json")
    loaded = Tokenizer.load(tmp_path / "t.json")
    assert loaded.same_as(TRAINED[kind]) and not loaded.same_as(Tokenizer.train(["other texts"] * 9, kind, 300))
    assert loaded.kind == kind
    assert loaded.size == TRAINED[kind].size
    for text in [*TEXTS, "unseen: ж 😀"]:
        assert loaded.encode(text) == TRAINED[kind].encode(text)
        assert loaded.decode(loaded.encode(text)) == text
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_words_keep_their_space_and_numbers_and_ideographs_stand_alone() -> None:
    tokenizer = TRAINED["word"]
    assert tokenizer.tokens(tokenizer.encode("The cat sat.")) == ["The", " cat", " sat", "."]
    pieces = ["1992", "年", "8", "月", "15", "日", "土", "曜", "日"]
    assert tokenizer.tokens(tokenizer.encode("1992年8月15日土曜日")) == pieces
    assert tokenizer.tokens(tokenizer.encode("cats1992")) == ["c", "a", "t", "s", "1992"]


def test_symbols_are_whole_wherever_they_stand_and_words_beside_tags_are_spelt() -> None:
    phonemes = [*["b ɔ̃ ʒ u ʁ", "ʒ u ʁ", "u b ɔ̃"] * 40, "p"]
    tokenizer = Tokenizer.train(phonemes, "symbol")
    assert tokenizer.tokens(tokenizer.encode("ʁ ɔ̃ b")) == [" ʁ", " ɔ̃", " b"]
    assert tokenizer.tokens(tokenizer.encode("b p")) == [" b", " ", "p"]
    assert tokenizer.decode(tokenizer.encode("b  ʒ ")) == "b  ʒ "
    lemmas = [f"{first}{second}{last}" for first in "abcdef" for second in "aeiou" for last in "klmnop"]
    tagged = [f"{lemma} V;{tense};{person}" for lemma in lemmas for tense in ("PST", "PRS") for person in "123"]
    tokenizer = Tokenizer.train(tagged, "symbol")
    assert tokenizer.tokens(tokenizer.encode("bak V;PST;3")) == [" ", "b", "a", "k", " V", ";PST", ";3"]


def test_letters_are_taken_apart_only_where_they_can_be_put_together_again() -> None:
    tokenizer = Tokenizer.train(["한국어", "학교 é"], "decomposed")
    assert tokenizer.tokens(tokenizer.encode("한é")) == ["ᄒ", "ᅡ", "ᆫ", "e", "\u0301"]
    assert tokenizer.offsets("한é") == [(0, 1)] * 3 + [(1, 2)] * 2
    as_written = "e\u0301"  # two characters, which composing would make one
    ids = tokenizer.encode(as_written)
    assert tokenizer.tokens(ids)[0] == "<0xFF>" and tokenizer.decode(ids) == as_written
    assert tokenizer.decode(tokenizer.encode("é")) == "é"


def test_readable_pieces() -> None:
    bpe = TRAINED["bpe"]
    assert "".join(bpe.tokens(bpe.encode("samedi 15 août"))) == "samedi 15 août"
    assert bpe.tokens([BOS, *bpe.encode("\u2603"), EOS]) == ["<s>", "<0xE2>", "<0x98>", "<0x83>", "</s>"]
    character = TRAINED["character"]
    assert character.tokens(character.encode("aé☃")) == ["a", "<0xC3>", "<0xA9>", "<0xE2>", "<0x98>", "<0x83>"]
    assert character.offsets("aé☃") == [(0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3)]


def test_training_is_the_same_in_every_process_and_within_size(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from regard.data.tokenizer import Tokenizer\n"
        "texts = [f'le {n} août {n * 7 % 91} mots{n % 13}' for n in range(300)]\n"
        "for kind in ('character', 'decomposed', 'symbol', 'word', 'bpe', 'unigram'):\n"
        "    Tokenizer.train(texts, kind, 330).save(Path(sys.argv[1]) / kind)\n"
        "assert 'torch' not in sys.modules, 'a tokenizer needs no torch'"
    )
    for seed in ("1", "2", "3"):
        (tmp_path / seed).mkdir()
        subprocess.run([sys.executable, "-c", code, tmp_path / seed], check=True, env={"PYTHONHASHSEED": seed})
    for kind in KINDS:
        assert len({(tmp_path / seed / kind).read_bytes() for seed in ("1", "2", "3")}) == 1
        assert Tokenizer.load(tmp_path / "1" / kind).size <= 330


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_at_all(kind: str) -> None:
    tokenizer = Tokenizer.train([], kind)
    assert tokenizer.size == 259
    assert tokenizer.decode(tokenizer.encode("voilà")) == "voilà"


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('{"format": 1, "kind": "bpe", "engine"')
    (tmp_path / "new.json").write_text('{"format": 99, "kind": "bpe"}')
    (tmp_path / "kind.json").write_text('{"format": 1, "kind": "letters"}')
    ClassLabels(["a", "b"]).save(tmp_path / "labels.json")
    (tmp_path / "odd.json").write_text('{"format": 1, "kind": "bpe", "engine": {"model": 3}}')
    for name, message in {
        "cut.json": "damaged",
        "new.json": "format 99",
        "kind.json": "holds 'letters', not a tokenizer",
        "labels.json": "holds 'labels', not a tokenizer",
        "odd.json": "damaged",
        "none.json": "cannot read",
    }.items():
        with pytest.raises(UserError, match=message) as error:
            Tokenizer.load(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"tokenizer\.size = 100"):
        Tokenizer.train(TEXTS, "bpe", 100)
