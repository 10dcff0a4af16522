"""The translation memory: exact and fuzzy matches, and the index that loses none."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.examples import Example
from regard.data.memory import MemoryMatch, PackedTexts, TranslationMemory, edit_distance, similarity

text = st.text(st.sampled_from("abcé 𝄞\n"), max_size=80)


def test_exact_matches_come_with_the_most_frequent_target_first() -> None:
    memory = TranslationMemory([Example("Save", "Sauver"), *[Example("Save", "Enregistrer")] * 2, Example("", "x")])
    assert memory.exact("Save") == ("Enregistrer", "Sauver")
    assert memory.exact("save") == ()
    assert len(memory) == 3
    assert memory.lookup("Save", limit=1) == [MemoryMatch("Save", "Enregistrer", 100)]


def test_a_score_is_one_minus_the_share_of_edits() -> None:
    memory = TranslationMemory([Example("Save the file", "Enregistrer le fichier"), Example("Quit", "Quitter")])
    assert memory.lookup("Save this file") == [MemoryMatch("Save the file", "Enregistrer le fichier", 85)]  # 2 of 14
    assert memory.lookup("Save this file", minimum=86) == []


def test_only_equal_texts_score_100() -> None:
    assert similarity("a" * 1000, "a" * 999 + "b") == 99
    assert similarity("", "") == 100
    assert similarity("", "a") == 0


@pytest.mark.parametrize(
    ("first", "second", "distance"), [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 2)]
)
def test_edit_distances(first: str, second: str, distance: int) -> None:
    assert edit_distance(first, second) == distance


@settings(max_examples=40, deadline=None)
@given(text, st.lists(text, max_size=5))
def test_many_distances_at_once_are_those_one_by_one(query: str, texts: list[str]) -> None:
    rows = np.arange(len(texts))[::-1]
    expected = [edit_distance(query, texts[row]) for row in rows]
    assert PackedTexts(texts).distances(query, rows).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(text, max_size=6), text, st.integers(1, 100), st.integers(1, 5))
def test_the_index_finds_what_a_scan_finds(sources: list[str], query: str, minimum: int, limit: int) -> None:
    memory = TranslationMemory(Example(source, source.upper()) for source in sources)
    assert memory.lookup(query, minimum, limit) == memory.scan(query, minimum, limit)


def test_the_index_finds_what_a_scan_finds_among_many_sentences() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 9))) for _ in range(200)]
    sentences = [" ".join(rng.choices(words, k=rng.randint(8, 30))) for _ in range(100)]
    memory = TranslationMemory(Example(sentence, str(n)) for n, sentence in enumerate(sentences))
    found = 0
    for sentence in rng.sample(sentences, 4):
        pieces = sentence.split()
        pieces[rng.randrange(len(pieces))] = rng.choice(words)
        matches = memory.lookup(" ".join(pieces), 60)
        assert matches == memory.scan(" ".join(pieces), 60)
        found += len(matches)
    assert found >= 4
