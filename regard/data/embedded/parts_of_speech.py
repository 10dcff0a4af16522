"""Parts of speech of short stories. Many words are nouns in one place and verbs in another: "I run", "a run".

Tags are those of Universal Dependencies: ADJ, ADP, ADV, AUX, DET, NOUN, PART, PRON, PROPN, PUNCT, VERB.
"""

from __future__ import annotations

import random

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.world import OBJECTS, PEOPLE, PLACES, pick
from regard.data.examples import Corpus, Example

ABOUT = "tagging: parts of speech of short stories, where a run is a noun and I run a verb"
EXAMPLE = Example("I run to the park .", "PRON VERB ADP DET NOUN PUNCT")

BOTH = (  # a noun and a verb: base form, third person
    ("run", "runs"),
    ("walk", "walks"),
    ("swim", "swims"),
    ("dance", "dances"),
    ("talk", "talks"),
    ("rest", "rests"),
    ("drink", "drinks"),
    ("dream", "dreams"),
    ("laugh", "laughs"),
    ("smile", "smiles"),
    ("visit", "visits"),
    ("ride", "rides"),
    ("look", "looks"),
    ("answer", "answers"),
    ("play", "plays"),
    ("sleep", "sleeps"),
)
NAMES = tuple(PEOPLE)
PLURALS = ("I", "You", "We", "They")  # subjects of the base form
SINGULARS = ("She", "He")
DETERMINERS = ("the", "a", "this", "every", "her", "his", "my")
SEVERAL = ("the", "these", "her", "his", "my")
ADJECTIVES = ("long", "short", "quiet", "old", "new", "good", "little", "open", "clean", "light")
ADVERBS = ("often", "now", "here", "slowly", "again", "today", "well")
PLACED = ("in", "near", "to", "from", "behind")
OBJECT_VERBS = (("clean", "cleans"), ("open", "opens"), ("light", "lights"), ("see", "sees"), ("like", "likes"))
THINGS = (*OBJECTS, "door", "window", "room", "house")

Words = list[tuple[str, str]]  # each word with its tag


def make(config: DataSettings) -> Corpus:
    wanted = counts(config, 12_000, 1000, available=10_000_000, remedy="ask for fewer")
    generator = random.Random(f"parts-of-speech {config.seed}")
    different: dict[str, str] = {}
    while len(different) < wanted.total:
        words = _story(generator)
        different.setdefault(" ".join(word for word, _ in words), " ".join(tag for _, tag in words))
    examples = [Example(*pair) for pair in different.items()]
    held = wanted.test + wanted.dev
    return Corpus(
        name="parts-of-speech",
        test=examples[: wanted.test],
        dev=examples[wanted.test : held],
        train=examples[held:],
        images=None,
        languages=None,
        skipped=[],
        notes=(f"{len(BOTH)} words are both nouns and verbs, 3 both adjectives and verbs; the sentence decides",),
        task="tagging",
        tokenizer=TokenizerSettings(kind="word"),
        model="transformer-tagger",
    )


def _story(generator: random.Random) -> Words:
    """One to three sentences."""
    return [word for _ in range(1 + int(generator.random() * 3)) for word in _sentence(generator)]


def _sentence(generator: random.Random) -> Words:
    form = generator.random()
    subject, third = _subject(generator)
    if form < 0.35:
        words = [*subject, (pick(generator, BOTH)[third], "VERB"), *_place(generator)]
    elif form < 0.6:
        words = [*subject, (pick(generator, OBJECT_VERBS)[third], "VERB"), *_noun_phrase(generator)]
    elif form < 0.8:
        likes = [(pick(generator, (("take", "takes"), ("want", "wants"), ("need", "needs")))[third], "VERB")]
        words = [*subject, *likes, *_noun_phrase(generator, pick(generator, BOTH)[0])]
    elif form < 0.88:
        wish = [(("wants" if third else "want"), "VERB"), ("to", "PART")]
        words = [*subject, *wish, (pick(generator, BOTH)[0], "VERB"), *_place(generator)]
    else:
        several = generator.random() < 0.5
        topic = _noun_phrase(generator, pick(generator, BOTH)[several], SEVERAL if several else DETERMINERS)
        verb = (pick(generator, ("are", "were") if several else ("is", "was")), "AUX")
        words = [(topic[0][0].capitalize(), topic[0][1]), *topic[1:], verb, (pick(generator, ADJECTIVES), "ADJ")]
    if generator.random() < 0.25:
        words = [*words, (pick(generator, ADVERBS), "ADV")]
    return [*words, (".", "PUNCT")]


def _subject(generator: random.Random) -> tuple[Words, bool]:
    """The subject, and whether its verb is in the third person singular."""
    chance = generator.random()
    if chance < 0.35:
        return [(pick(generator, PLURALS), "PRON")], False
    if chance < 0.55:
        return [(pick(generator, SINGULARS), "PRON")], True
    return [(pick(generator, NAMES), "PROPN")], True


def _noun_phrase(
    generator: random.Random, noun: str | None = None, determiners: tuple[str, ...] = DETERMINERS
) -> Words:
    adjective = [(pick(generator, ADJECTIVES), "ADJ")] if generator.random() < 0.4 else []
    rest = [*adjective, (noun or pick(generator, THINGS), "NOUN")]
    determiner = pick(generator, determiners)
    return [("an" if determiner == "a" and rest[0][0][0] in "aeiou" else determiner, "DET"), *rest]


def _place(generator: random.Random) -> Words:
    if generator.random() < 0.3:
        return []
    return [(pick(generator, PLACED), "ADP"), ("the", "DET"), (pick(generator, PLACES), "NOUN")]
