"""Stories: their sentences decide the answers, and pronouns have antecedents."""

from __future__ import annotations

import re

from regard.config import DataSettings
from regard.data.embedded.stories import stories
from regard.data.embedded.world import PEOPLE, PLACES

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


def reread(text: str, name: str) -> str | None:
    """The answer found by reading the sentences alone, with pronouns resolved to the subject before."""
    places: dict[str, str] = {}
    holder: dict[str, str] = {}
    subject: list[str] = []
    for sentence in text.removesuffix(".").split(". "):
        who = re.match(r"(She|He|They|[A-Z]\w+(?: and [A-Z]\w+)?) ", sentence)
        assert who is not None
        if who[1] not in ("She", "He", "They"):
            subject = who[1].split(" and ")
        else:
            assert (who[1] == "They") == (len(subject) == 2)
            assert who[1] == "They" or PEOPLE[subject[0]] == who[1].lower()
        thing = sentence.split()[-1]
        if re.search(r"(went|walked|moved) to", sentence):
            for person in subject:
                places[person] = thing
        elif re.search(r" (took|picked up|grabbed) ", sentence):
            holder[thing] = subject[0]
        else:
            assert holder.pop(thing) == subject[0]
            places[thing] = places.get(subject[0], "unknown")
    return places.get(holder.get(name, name))


def test_stories_decide_their_answers() -> None:
    every = [story for rows in stories(DataSettings(corpus="stories", **SMALL)).values() for story in rows]
    for story in every:
        example = story.example()
        name = story.question.removesuffix("?").split()[-1]
        assert reread(story.text, name) == story.answer in PLACES
        supporting = [example.source[story.sentences[n].start : story.sentences[n].end] for n in story.supporting]
        assert any(sentence.endswith(f" {story.answer}.") for sentence in supporting)
        assert name in PEOPLE or any(sentence.endswith(f" the {name}.") for sentence in supporting)
        for pronoun in story.pronouns:
            assert example.source[pronoun.where.start : pronoun.where.end].lower() == pronoun.word
            named = example.source[pronoun.antecedent_where.start : pronoun.antecedent_where.end]
            assert named == pronoun.antecedent
            assert pronoun.antecedent_where.end < pronoun.where.start
    assert {p.word for story in every for p in story.pronouns} == {"he", "she", "they"}
    last_place = [re.findall(r"to the (\w+)", story.text)[-1] == story.answer for story in every]
    assert sum(last_place) < 0.75 * len(every)  # reading only the last place is not enough
