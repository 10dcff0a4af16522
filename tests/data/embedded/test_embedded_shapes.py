"""Shapes: no caption twice, and every caption is true of its scene."""

from __future__ import annotations

import itertools
import random

from regard.config import DataSettings
from regard.data import load_corpus
from regard.data.embedded.shapes import compose, mentions


def test_the_corpus_says_nothing_twice_and_is_the_same_each_time() -> None:
    config = DataSettings(corpus="shapes", examples=400, dev_examples=50, test_examples=60)
    corpus = load_corpus(config)
    rows = [example for split in corpus.splits().values() for example in split]
    assert [len(split) for split in corpus.splits().values()] == [400, 50, 60]
    assert len({row.target for row in rows}) == len({row.source for row in rows}) == 510
    assert load_corpus(config).train == corpus.train
    assert load_corpus(config.model_copy(update={"seed": 2})).train != corpus.train
    words = " ".join(row.target for row in rows)
    assert all(word in words for word in ("above", "left of", "inside", "in the middle", "small", "striped", "star"))


def test_captions_are_true() -> None:
    """What is said to be above, left or inside is; and nothing sticks out of the image."""
    generator = random.Random(1)
    for _ in range(400):
        scene, caption = compose(generator)
        things = [thing for thing, _ in mentions(scene, caption)]
        for one, other in itertools.pairwise(things):
            if " above " in caption:
                assert one.box[3] <= other.box[1] + 1
            elif " left of " in caption:
                assert one.box[2] <= other.box[0] + 1
            else:
                assert other.box[0] < one.box[0] and one.box[2] < other.box[2] and one.colour != other.colour
        assert all(-0.5 <= edge <= 64.5 for thing in things for edge in thing.box)
        for thing, (start, end) in mentions(scene, caption):
            assert caption[start:end] == thing.shape
