"""The places of pronouns and names in words."""

from __future__ import annotations

from regard.apps.lessons.antecedent import NAMES, batch_of, references
from regard.config import DataSettings
from regard.data.embedded.stories import stories


def test_a_pronoun_and_the_name_it_stands_for() -> None:
    told = stories(DataSettings(corpus="stories", examples=50, dev_examples=20, test_examples=5))["train"]
    found = references(told)
    assert len(found) > 20
    for row in found:
        assert row.words[row.pronoun].lower() in ("she", "he") and row.words[row.antecedent] == row.name
        assert row.antecedent < row.pronoun
    ids = {word: i for i, word in enumerate(sorted({word.lower() for row in found for word in row.words}), 1)}
    source, place, names = batch_of(found[:3], ids)
    assert source[1, place[1]] == ids[found[1].words[found[1].pronoun].lower()]
    assert NAMES[int(names[2])] == found[2].name and (source != 0).sum(1).tolist() == [len(r.words) for r in found[:3]]
