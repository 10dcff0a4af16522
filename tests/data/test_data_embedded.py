"""Embedded corpora: the same for the same seed, of the given sizes, split without overlap."""

from __future__ import annotations

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.embedded import EMBEDDED

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


@pytest.mark.parametrize("name", EMBEDDED)
def test_deterministic_sized_and_split(name: str) -> None:
    corpus = load_corpus(DataSettings(corpus=name, **SMALL))
    assert corpus == load_corpus(DataSettings(corpus=name, **SMALL))
    assert corpus.train != load_corpus(DataSettings(corpus=name, seed=2, **SMALL)).train
    sizes = tuple(len(rows) for rows in corpus.splits().values())
    assert sizes == (300, 40, 50) or (name == "prose" and sizes[0] == 300 and 30 < sizes[1] <= 40 < sizes[2] <= 50)
    assert all(example.target for rows in corpus.splits().values() for example in rows)
    known = {example.source or example.target for example in corpus.train}
    assert not known & {example.source or example.target for example in [*corpus.dev, *corpus.test]}
    assert not {e.source or e.target for e in corpus.dev} & {e.source or e.target for e in corpus.test}
    assert corpus.tokenizer.kind in ("word", "character")
    assert EMBEDDED[name].about
