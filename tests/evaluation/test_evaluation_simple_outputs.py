"""Baselines on cases with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.evaluation.simple_outputs import (
    frequent_tags,
    nearest_images,
    nearest_texts,
    simple_outputs,
    word_for_word,
)

TRAIN = [Example(*pair) for pair in (("red cat", "gato rojo"), ("red dog", "perro rojo"), ("old cat", "gato viejo"))]


def test_words_become_their_likeliest_words_in_the_same_order() -> None:
    assert word_for_word(TRAIN * 3, ["old dog", "red zebra"]) == ["viejo perro", "rojo zebra"]
    letters = [Example(word, word.upper()) for word in ("a", "b", "c", "ab")]
    assert word_for_word(letters, ["acb"]) == ["ACB"]


def test_the_most_frequent_tag() -> None:
    train = [Example("a run", "D N"), Example("I run", "P V"), Example("the run", "D N")]
    assert frequent_tags(train, ["I run fast"]) == ["P N D"]


def test_nearest_texts() -> None:
    assert nearest_texts(["walking home", "a red house", "talks"], ["the red houses", "talked", "walked home"]) == [
        1,
        2,
        0,
    ]


def test_nearest_images(tmp_path: Path) -> None:
    for name, colour in (("a", 10), ("b", 200), ("c", 190)):
        Image.fromarray(np.full((20, 20, 3), colour, np.uint8)).save(tmp_path / f"{name}.png")
    assert nearest_images(["a.png", "b.png"], ["c.png", "a.png"], tmp_path) == [1, 0]


@pytest.mark.parametrize(
    ("name", "task", "baselines"),
    [
        ("reverse", "translation", {"most frequent", "nearest neighbour", "copy", "word for word"}),
        ("languages", "classification", {"most frequent", "nearest neighbour"}),
        ("shapes", "captioning", {"most frequent", "nearest neighbour"}),
    ],
)
def test_each_task_has_its_baselines(name: str, task: str, baselines: set[str]) -> None:
    corpus = load_corpus(DataSettings(corpus=name, examples=60, dev_examples=5, test_examples=5))
    outputs = simple_outputs(corpus, task, corpus.test)
    assert outputs.keys() == baselines and all(len(texts) == 5 for texts in outputs.values())
    assert simple_outputs(corpus, task, corpus.train[:5])["nearest neighbour"] == [e.target for e in corpus.train[:5]]
