"""A lexicon finds which token became which, however they are ordered."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from regard.data.lexicon import ALONE, FREQUENT, LIKELY, Lexicon, _cells, learn_lexicon
from regard.data.token_store import TokenStore
from regard.data.tokenizer import BOS, EOS, PAD

WORDS, SHIFT = 40, 50  # source words 3 to 42; word w becomes w + 50, anywhere in the sentence


def ragged(rows: list[list[int]]) -> TokenStore:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    return TokenStore(np.asarray([id for row in rows for id in row], dtype=np.int32), starts)


def sentences(count: int, seed: int = 1) -> tuple[TokenStore, TokenStore]:
    random = np.random.default_rng(seed)
    sources = [random.choice(WORDS, random.integers(2, 9), replace=False) + 3 for _ in range(count)]
    targets = [random.permutation(source + SHIFT) for source in sources]
    return ragged([[*row, EOS] for row in sources]), ragged([[*row, EOS] for row in targets])


def test_every_word_finds_its_translation() -> None:
    lexicon = learn_lexicon(*sentences(600), WORDS + 3, WORDS + SHIFT + 3)
    assert lexicon.likely.shape == (WORDS + 3, LIKELY)
    assert [lexicon.likely[word, 0] for word in range(3, WORDS + 3)] == [word + SHIFT for word in range(3, WORDS + 3)]
    assert lexicon.likely[EOS, 0] == EOS
    assert (lexicon.likely[PAD] == PAD).all()  # never read


def test_many_pairs_are_sampled(monkeypatch) -> None:
    source, target = sentences(2000)
    whole = (source.lengths * target.lengths).sum()
    assert len(_cells(source, target, 99)[0]) == whole
    monkeypatch.setattr("regard.data.lexicon.CELLS", 5000)
    assert 3000 < len(_cells(source, target, 99)[0]) < 7000 < whole
    lexicon = learn_lexicon(source, target, WORDS + 3, WORDS + SHIFT + 3)
    right = sum(lexicon.likely[word, 0] == word + SHIFT for word in range(3, WORDS + 3))
    assert right >= WORDS // 2


def test_candidates_ascend_and_begin_with_the_marks() -> None:
    lexicon = learn_lexicon(*sentences(600), WORDS + 3, WORDS + SHIFT + 3)
    for sources, also in (([[3, 4], [5]], ()), ([[]], (9,)), ([[3] * 50], (9, 9))):
        found = lexicon.candidates(sources, also).tolist()
        assert found[:3] == [PAD, BOS, EOS]
        assert all(one < other for one, other in pairwise(found))
        assert set(also) <= set(found)
        assert {word + SHIFT for source in sources for word in source} <= set(found)


@pytest.mark.parametrize(("words", "own"), [(1, 1.0), (ALONE - 1, 1.0), (4 * ALONE - 1, 0.5), (16 * ALONE - 1, 0.25)])
def test_the_more_tokens_are_read_the_fewer_each_has(words: int, own: float) -> None:
    size = 16 * ALONE + 3
    likely = np.arange(3, 3 + size * LIKELY, dtype=np.int32).reshape(size, LIKELY)  # no token has another's
    lexicon, read = Lexicon(likely, np.asarray([EOS], dtype=np.int32)), range(3, 3 + words)
    found = lexicon.candidates([[word] for word in read])
    expected = likely[[EOS, *read], : int(own * LIKELY)].ravel().tolist()
    assert found.tolist() == sorted({PAD, BOS, EOS, *expected}), "the likeliest"
    again = lexicon.candidates([[word] for word in read] * 3)
    assert np.array_equal(found, again), "the same sentence again adds nothing"


def test_a_lexicon_of_before_has_fewer() -> None:
    lexicon = Lexicon(np.arange(3, 3 + 640 * 10).reshape(100, 64), np.asarray([EOS]))
    assert len(lexicon.candidates([[word] for word in range(3, 93)])) == 3 + 91 * 64


def test_the_most_frequent_are_always_there() -> None:
    source, target = ragged([[3, EOS]] * 3), ragged([[4, EOS], [4, EOS], [5, EOS]])
    lexicon = learn_lexicon(source, target, 10, 10)
    assert lexicon.frequent.tolist() == [EOS, 4, 5] and len(lexicon.frequent) <= FREQUENT
    assert lexicon.likely[3, :4].tolist() == [EOS, 4, 5, PAD]  # nothing tells the word from the end of its sentence
