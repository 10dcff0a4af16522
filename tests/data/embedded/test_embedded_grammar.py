"""Two words to one, words that change places, and the truth about both."""

from __future__ import annotations

import pytest

from regard.config import DataSettings
from regard.data.embedded.grammar import grammar_sentences
from regard.data.embedded.truth import truths

NAMES = ["grammar-spanish", "grammar-turkish"]


def sentences(name: str, count: int = 3000) -> dict[str, str]:
    config = DataSettings(corpus=name, examples=count, dev_examples=5, test_examples=5)
    examples = [sentence.example() for rows in grammar_sentences(config, name).values() for sentence in rows]
    return {example.source: example.target for example in examples}


def test_two_words_to_one_and_words_that_change_places() -> None:
    spanish, turkish = sentences(NAMES[0], 12_000), sentences(NAMES[1], 15_000)
    assert spanish["we are tired"] == "estamos cansados" and spanish["she is tired"] == "está cansada"
    black = next(source for source in spanish if source.startswith("the black cats see the new "))
    assert spanish[black].startswith("los gatos negros ven l") and spanish[black].endswith(("nuevas", "nuevos"))
    assert turkish["we chase mice"] == "fareleri kovalarız" and turkish["we are tired"] == "yorgunuz"
    assert all(source not in turkish or turkish[source] == "kediler fareleri kovalar" for source in ["cats chase mice"])


@pytest.mark.parametrize("name", NAMES)
def test_every_word_is_aligned(name: str) -> None:
    """Each source word says something of the target, and each target word is said by some."""
    config = DataSettings(corpus=name, examples=10, dev_examples=40, test_examples=40)
    known = truths(config)
    assert len(known) == 80
    for example, truth in known.items():
        sources = {example.source[span.start : span.end] for span, _ in truth.aligned}
        targets = {example.target[span.start : span.end] for _, span in truth.aligned}
        assert sources == set(example.source.split()) and targets == set(example.target.split())
