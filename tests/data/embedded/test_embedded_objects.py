"""One object a picture, and its shape as the class."""

from __future__ import annotations

from collections import Counter

from regard.config import DataSettings
from regard.data.embedded.objects import make
from regard.data.embedded.scene import SHAPES, SIDE, parse


def test_the_class_is_the_shape() -> None:
    corpus = make(DataSettings(corpus="objects", examples=600, dev_examples=20, test_examples=20))
    counted = Counter(example.target for example in corpus.train)
    assert set(counted) == set(SHAPES) and min(counted.values()) > 60 and corpus.task == "classification"
    for example in corpus.train:
        (thing,) = parse(example.source).things
        assert thing.shape == example.target and min(thing.box) >= 0 and max(thing.box) <= SIDE
