"""Sizes of generated corpora: limits, and held-out sets without the rare examples first."""

from __future__ import annotations

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.errors import UserError

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


def test_asking_for_more_than_there_is() -> None:
    with pytest.raises(UserError, match=r"data\.examples = 60: .* addition has 55 different ones"):
        load_corpus(DataSettings(corpus="addition", digits=1, examples=60))
    corpus = load_corpus(DataSettings(corpus="addition", digits=1))
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (45, 5, 5)
    assert "only 55 different examples exist" in corpus.notes[0]
    with pytest.raises(UserError, match=r"data\.examples = 999999, but en-fr has"):
        load_corpus(DataSettings(corpus="dates", examples=999_999))


def test_held_out_sets_do_not_take_the_rare_ones() -> None:
    """Of the 55 sums of two single digits most are for training, as of all others."""
    corpus = load_corpus(DataSettings(corpus="addition"))
    short = {split: sum(len(e.source) == 3 for e in examples) for split, examples in corpus.splits().items()}
    assert short["train"] > 40 and short["test"] < 8 and short["dev"] < 8
