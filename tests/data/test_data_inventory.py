"""Texts of symbols are told from texts of words, and inventories that become dense when letters are taken apart."""

from __future__ import annotations

import random

import pytest

from regard.data.inventory import find_symbols, split_symbols, take_inventory

PHONEMES = ["b", "ɔ̃", "ʒ", "u", "ʁ", "t͡ʃ", "a", "l"]
WORDS = ["the", "green", "house", "stands", "behind", "an", "old", "tree", "where", "nobody", "ever", "looks"]
TAGS = [["V", "PST", "3"], ["V", "PRS", "1"], ["N", "PL"]]


def rows(symbols: list[str], length: int, count: int = 300) -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choices(symbols, k=length)) for _ in range(count)]


def test_a_small_inventory_between_spaces_is_one_of_symbols() -> None:
    found = take_inventory(rows(PHONEMES, 5))
    assert found.symbols == {f" {symbol}" for symbol in PHONEMES} and not found.tags
    assert found.length == 5 and found.characters > 9


@pytest.mark.parametrize("separator", [" ", ";", "+"])
@pytest.mark.parametrize("last", [False, True])
def test_tags_beside_many_words(separator: str, last: bool) -> None:
    draw = random.Random(1)
    texts = []
    for _ in range(600):
        lemma, tags = "".join(draw.choices("abdeklmorst", k=6)), separator.join(draw.choice(TAGS))
        texts.append(f"{tags} {lemma}" if last else f"{lemma} {tags}")
    symbols, tags_found = find_symbols(texts)
    assert tags_found and {piece[1:] for piece in symbols} == {"V", "PST", "3", "PRS", "1", "N", "PL"}
    assert 9 < take_inventory(texts).length < 12  # a space, six letters and two or three tags


def test_sentences_numbers_and_few_examples_are_no_symbols() -> None:
    numbered = [f"{text} {place}" for place, text in enumerate(rows(WORDS, 2))]
    for texts in (rows(WORDS, 6), numbered, rows(PHONEMES, 5, 10), rows(PHONEMES, 1), [], [""]):
        assert find_symbols(texts) == (frozenset(), False)


def test_hangul_is_dense_when_taken_apart_and_french_is_not() -> None:
    draw = random.Random(1)
    syllables = [chr(0xAC00 + draw.randrange(11172)) for _ in range(400)]
    hangul = take_inventory(["".join(draw.choices(syllables, k=4)) for _ in range(300)])
    assert hangul.parts is not None and hangul.parts <= 68 < 300 < len(hangul.letters)
    assert take_inventory(["été", "où", "ça", "naïve"] * 50).parts is None


def test_pieces_give_the_text_back() -> None:
    for text in ("b ɔ̃", "a  b", " a", "V;PST", ";;", "", "x "):
        assert "".join(split_symbols(text)) == (f" {text}" if text else "")
