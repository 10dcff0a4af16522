"""The same word is a noun here and a verb there, and the sentence says which."""

from __future__ import annotations

from collections import Counter

from regard.config import DataSettings
from regard.data.embedded.parts_of_speech import EXAMPLE, make


def test_every_word_has_a_tag_and_many_have_two() -> None:
    corpus = make(DataSettings(corpus="parts-of-speech", examples=800, dev_examples=50, test_examples=50))
    seen: dict[str, Counter[str]] = {}
    for example in [*corpus.train, EXAMPLE]:
        words, tags = example.source.split(), example.target.split()
        assert len(words) == len(tags)
        for word, tag in zip(words, tags, strict=True):
            seen.setdefault(word, Counter())[tag] += 1
    assert seen["run"].keys() == {"NOUN", "VERB"} and seen["to"].keys() == {"PART", "ADP"}
    assert sum(len(tags) > 1 for tags in seen.values()) > 30
    assert not any(f" a {vowel}" in f" {example.source}" for example in corpus.train for vowel in "aeiou")
