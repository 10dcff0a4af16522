"""Prose: chunks are the text, and held-out text is not repeated in training."""

from __future__ import annotations

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.embedded.prose import CHUNK, chunks

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


def test_prose_chunks_are_the_text() -> None:
    text = "word " * 300 + "x" * 700 + "\n\nend"
    pieces = chunks(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= CHUNK for piece in pieces)
    assert all(piece[-1].isspace() for piece in pieces[:5])
    assert chunks("") == []


def test_prose_holds_out_text_that_train_does_not_repeat() -> None:
    corpus = load_corpus(DataSettings(corpus="prose"))
    train = "".join(example.target for example in corpus.train)
    repeated = [e for e in [*corpus.dev, *corpus.test] if e.target[60:200] and e.target[60:200] in train]
    assert len(corpus.dev) > 50
    assert len(corpus.test) > 50
    assert len(repeated) <= 0.02 * len([*corpus.dev, *corpus.test])
    assert corpus.task == "continuation"
