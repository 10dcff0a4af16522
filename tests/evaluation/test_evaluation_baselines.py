"""The n-gram is a probability distribution, follows its formula, and learns."""

from __future__ import annotations

import gzip
import math
import random

import pytest

from regard.errors import UserError
from regard.evaluation.baselines import BEGIN, END, SYMBOLS, CharacterNgram, gzip_bits, language_baselines

TEXTS = ["the cat sat on the mat", "a cat, a hat", "that", ""]


@pytest.mark.parametrize("history", ["cat ", "xcat", "zzzz", BEGIN * 4, BEGIN * 2 + "th"])
def test_probabilities_sum_to_one(history):
    model = CharacterNgram(TEXTS)
    seen = {*"".join(TEXTS), END}
    total = sum(model.probability(history, symbol) for symbol in seen)
    total += (SYMBOLS - len(seen)) * model.probability(history, "Ж")
    assert total == pytest.approx(1)


def test_witten_bell_by_hand():
    model = CharacterNgram(["ab", "aa"], order=2)
    # unigrams: a 3, b 1, END 2 of 6, three kinds; after a: b, a, END once each; at the begin: a twice
    unigram = {"a": (3 + 3 / SYMBOLS) / 9, "b": (1 + 3 / SYMBOLS) / 9}
    assert model.probability("a", "b") == pytest.approx((1 + 3 * unigram["b"]) / 6)
    assert model.probability(BEGIN, "a") == pytest.approx((2 + 1 * unigram["a"]) / 3)
    assert model.probability("?", "a") == pytest.approx(unigram["a"])
    bits = -math.log2(model.probability(BEGIN, "a")) - math.log2(model.probability("a", END))
    assert model.bits_per_character(["a"]) == pytest.approx(bits)


def test_longer_histories_help_where_there_is_structure():
    draw = random.Random(2)
    words = ["".join(draw.choices("abcdefgh", k=5)) for _ in range(20)]
    texts = [" ".join(draw.choices(words, k=30)) for _ in range(60)]
    train, test = texts[:50], texts[50:]
    bits = [CharacterNgram(train, order).bits_per_character(test) for order in (1, 2, 3, 5)]
    assert bits == sorted(bits, reverse=True) and bits[-1] < 1.2
    noise = ["".join(draw.choices("abcd", k=200)) for _ in range(60)]
    assert CharacterNgram(noise[:50]).bits_per_character(noise[50:]) == pytest.approx(2, abs=0.15)


def test_gzip():
    test = ["some text of the test set", "and a second line"]
    empty = len(gzip.compress(b"", 9))
    alone = 8 * (len(gzip.compress("\n".join([*test, ""]).encode(), 9)) - empty) / sum(map(len, test))
    assert gzip_bits([], test) == pytest.approx(alone)
    assert gzip_bits(test, test) < alone / 2  # what was seen in training costs little
    assert set(language_baselines(TEXTS, ["the hat"])) == {"gzip", "character 5-gram"}
    with pytest.raises(UserError, match="0 characters"):
        gzip_bits(test, [""])
