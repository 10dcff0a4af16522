"""Sums: right, and held out in both orders."""

from __future__ import annotations

from regard.config import DataSettings
from regard.data.corpus import load_corpus

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


def test_sums_are_right_and_unseen_either_way() -> None:
    corpus = load_corpus(DataSettings(corpus="addition", examples=3000))
    keys = {}
    for name, rows in corpus.splits().items():
        pairs = [tuple(map(int, example.source.split("+"))) for example in rows]
        assert [str(sum(pair)) for pair in pairs] == [example.target for example in rows]
        keys[name] = {tuple(sorted(pair)) for pair in pairs}
    assert not keys["train"] & (keys["dev"] | keys["test"])
    assert max(len(example.source) for example in corpus.train) == 7
