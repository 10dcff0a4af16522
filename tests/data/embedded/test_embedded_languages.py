"""Languages: balanced classes, names of the test unseen in training."""

from __future__ import annotations

import re
from collections import Counter

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.embedded.languages import LANGUAGES

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


def test_languages_are_balanced_and_names_are_unseen() -> None:
    corpus = load_corpus(DataSettings(corpus="languages", examples=3400, dev_examples=170, test_examples=170))
    classes = Counter(example.target for example in corpus.train)
    assert len(classes) == len(LANGUAGES) >= 12
    assert set(classes.values()) == {200}
    train = " ".join(example.source for example in corpus.train)
    singles = [
        e.source
        for e in corpus.test
        if not re.search(r"[\d,]| (et|und|and|y|e|en|och|ja|i|a|și|és|ve|и|і|та) ", e.source)
    ]
    assert singles
    assert not [name for name in singles if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", train)]
