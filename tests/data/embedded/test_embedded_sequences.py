"""Reverse, sort and copy: right, and of the given lengths."""

from __future__ import annotations

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


@pytest.mark.parametrize("name", ["reverse", "sort", "copy"])
def test_sequences_and_their_lengths(name: str) -> None:
    corpus = load_corpus(DataSettings(corpus=name, lengths="3-8", test_lengths="9-12", **SMALL))
    right = {"reverse": lambda s: s[::-1], "sort": lambda s: "".join(sorted(s)), "copy": lambda s: s}[name]
    assert all(example.target == right(example.source) for rows in corpus.splits().values() for example in rows)
    assert {len(example.source) for example in [*corpus.train, *corpus.dev]} == set(range(3, 9))
    assert {len(example.source) for example in corpus.test} == set(range(9, 13))
    overlapping = load_corpus(DataSettings(corpus=name, lengths="1-2", test_lengths="2-3", **SMALL))
    assert not {e.source for e in overlapping.train} & {e.source for e in overlapping.test}
    assert len(overlapping.train) == 300
