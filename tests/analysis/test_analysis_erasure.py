"""A word that is hidden is gone with all its tokens, a cell of a picture grey."""

from __future__ import annotations

import numpy as np
import pytest

from regard.analysis.erasure import GREY, erase, source_words, words_of
from regard.config.values import CELL
from regard.data.sources import EncodedImage
from regard.errors import UserError

TOKENS = ["the", " ca", "t", " sat"]


def test_words() -> None:
    assert erase([5, 6, 7, 8], TOKENS, [1]) == [5, 8]
    assert erase([5, 6, 7, 8], TOKENS, [0, 1, 2]) == []
    assert erase([5, 6, 7, 8], TOKENS, []) == [5, 6, 7, 8]
    words = source_words(TOKENS, [1])
    assert [(word.text, word.tokens, word.hidden) for word in words] == [
        ("the", (0,), False),
        ("cat", (), True),
        ("sat", (1,), False),
    ]
    with pytest.raises(UserError, match="no word 3 to hide: the source has 3 words"):
        erase([5, 6, 7, 8], TOKENS, [3])


def test_words_of_a_text_whose_tags_were_taken_out() -> None:
    assert words_of(TOKENS, ["the", " sat"], [1]) == source_words(TOKENS, [1])
    words = words_of([*TOKENS, " <b>"], ["the", " sat"], [1])
    assert [(word.text, word.tokens, word.hidden) for word in words] == [
        ("the", (0,), False),
        ("…", (), True),
        ("sat", (1,), False),
    ]


def test_cells() -> None:
    image = EncodedImage(np.zeros((2 * CELL, 2 * CELL, 3), np.uint8), 1)
    covered = erase(image, [], [3])
    assert isinstance(covered, EncodedImage) and covered.word == 1
    assert (covered.pixels[CELL:, CELL:] == GREY).all() and covered.pixels.sum() == GREY * 3 * CELL**2
    assert not image.pixels.any()  # the picture itself is as it was
    with pytest.raises(UserError, match="no cell 4"):
        erase(image, [], [4])
