"""One id a word, outlines for words that training did not have twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data.vocabulary import SPECIALS
from regard.data.whole_words import OTHER, WholeWords, outline, words_of
from regard.errors import UserError

TEXTS = ["the cat sees the dog", "the dog sleeps", "Anna sleeps", "Berna sings 1992"]


def test_words_are_parted_by_spaces_alone() -> None:
    assert words_of("  a\u00a0b c \t d") == ["a\u00a0b", "c", "d"] and words_of(" ") == []


def test_an_outline_keeps_the_case_the_ending_and_digits() -> None:
    assert [outline(word) for word in ("walking", "Anna", "B-52", "x")] == ["<a…ing>", "<A…nna>", "<0>", "<a…x>"]


def test_rare_words_are_read_by_their_outline(tmp_path: Path) -> None:
    codec = WholeWords.train(TEXTS)
    ids = codec.encode("the dog rings")
    assert codec.tokens(ids) == ["the", "dog", "<a…ngs>"] and codec.knows("dog") and not codec.knows("cat")
    # -ngs was seen in "sings", which occurs once; -nna in Anna
    assert codec.tokens(codec.encode("Hanna kings 7 qq")) == ["<A…nna>", "<a…ngs>", "<0>", OTHER]
    assert min(ids) >= len(SPECIALS) and codec.source_tokens(ids) == ["the", " dog", " <a…ngs>", "</s>"]
    codec.save(tmp_path / "words.json")
    again = WholeWords.load(tmp_path / "words.json")
    assert again.same_as(codec) and again.encode(TEXTS[3]) == codec.encode(TEXTS[3])


def test_a_size_limits_the_words() -> None:
    assert sum(map(WholeWords.train(TEXTS, size=5).knows, ("the", "dog", "sleeps"))) == 1


def test_another_codec_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"format": 1, "kind": "labels", "names": []}')
    with pytest.raises(UserError, match="holds 'labels', not the words of a tagger"):
        WholeWords.load(tmp_path / "x.json")
