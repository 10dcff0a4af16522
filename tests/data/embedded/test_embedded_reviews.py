"""No word alone decides; what comes after "but" does."""

from __future__ import annotations

from collections import Counter

from regard.config import DataSettings
from regard.data.embedded.reviews import BAD, GOOD, make


def test_no_word_decides() -> None:
    corpus = make(DataSettings(corpus="reviews", examples=3000, dev_examples=20, test_examples=20))
    assert 0.45 < sum(example.target == "positive" for example in corpus.train) / 3000 < 0.55
    for word in (*GOOD, *BAD):
        labels = Counter(example.target for example in corpus.train if f" {word}" in example.source)
        assert 0.25 < labels["positive"] / labels.total() < 0.75


def test_the_half_after_but_is_the_review() -> None:
    """Simple reviews by their negation; a review with a but is its second half."""
    corpus = make(DataSettings(corpus="reviews", examples=2000, dev_examples=20, test_examples=20))
    for example in corpus.train:
        last = example.source.split(". ")[-1].split(", but ")[-1].split(", and ")[-1]
        negated = any(mark in last for mark in (" not ", " never ", " hardly "))
        good = any(word in last for word in GOOD)
        assert (example.target == "positive") == (good != negated), example
