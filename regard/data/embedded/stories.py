"""Question answering over short stories, with pronouns. The sentences that decide the answer are known."""

from __future__ import annotations

import random
from dataclasses import dataclass

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.world import OBJECTS, PEOPLE, PLACES, Event, World, pick
from regard.data.examples import Corpus, Example

ABOUT = "question answering over short stories with pronouns: where is someone or something?"
EXAMPLE = Example("Mary took the key. She went to the garden. Where is the key?", "garden")
SENTENCES = range(2, 7)
NAMES = sorted(PEOPLE)
THINGS = 0.9  # how often the question is about a thing, where one is possible: its answer takes two sentences
LAST_PLACE = 0.4  # how often the answer may simply be the last place named, where there is another question


@dataclass(frozen=True)
class Span:
    """Characters start to end (exclusive) of the example's source."""

    start: int
    end: int


@dataclass(frozen=True)
class Pronoun:
    """A pronoun, who it stands for, and where that was named last."""

    word: str
    antecedent: str
    where: Span
    antecedent_where: Span


@dataclass(frozen=True)
class Story:
    """A story with its truth: which sentences decide the answer, and what each pronoun stands for."""

    text: str
    question: str
    answer: str
    sentences: tuple[Span, ...]
    supporting: tuple[int, ...]
    pronouns: tuple[Pronoun, ...]

    def example(self) -> Example:
        return Example(f"{self.text} {self.question}", self.answer)


def make(config: DataSettings) -> Corpus:
    rows = {split: [story.example() for story in split_stories] for split, split_stories in stories(config).items()}
    return Corpus(
        name="stories",
        **rows,
        images=None,
        languages=None,
        skipped=[],
        notes=(f"{SENTENCES[0]} to {SENTENCES[-1]} sentences a story; {len(PLACES)} possible answers",),
        task="translation",
        tokenizer=TokenizerSettings(kind="word", shared=True),
        model="lstm-additive",
    )


def stories(config: DataSettings) -> dict[str, list[Story]]:
    """The stories of the corpus, split by split, all different."""
    wanted = counts(config, 50_000, 1000, available=10_000_000, remedy="ask for fewer")
    generator = random.Random(f"stories {config.seed}")
    by_source: dict[str, Story] = {}
    while len(by_source) < wanted.total:
        story = tell(generator)
        if story is not None:
            by_source.setdefault(story.example().source, story)
    different = list(by_source.values())
    return {
        "test": different[: wanted.test],
        "dev": different[wanted.test : wanted.test + wanted.dev],
        "train": different[wanted.test + wanted.dev :],
    }


def tell(generator: random.Random) -> Story | None:
    """One story, or None where it answers no question."""
    people = generator.sample(NAMES, 3)
    world = World(people, generator.sample(OBJECTS, 2))
    events = [world.happen(generator) for _ in range(pick(generator, SENTENCES))]
    people_first = generator.random() > THINGS
    names = [*people, *world.things] if people_first else [*world.things, *people]
    known = [(name, answer) for name in names if (answer := world.where(name))]
    if not known:
        return None
    name, answer = known[0]
    if answer.place == world.last_place and generator.random() > LAST_PLACE:
        name, answer = next(((n, a) for n, a in known if a.place != world.last_place), known[0])
    question = f"Where is {name}?" if name in PEOPLE else f"Where is the {name}?"
    return _write(generator, events, question, answer.place, answer.supporting)


def _write(
    generator: random.Random, events: list[Event], question: str, answer: str, supporting: tuple[int, ...]
) -> Story:
    """The events as text. A pronoun stands only for the whole subject of the sentence before, so it cannot mislead."""
    text = ""
    spans: list[Span] = []
    pronouns: list[Pronoun] = []
    named = Span(0, 0)
    before: Event | None = None
    for event in events:
        start = len(text) + (1 if text else 0)
        subject = " and ".join(event.people)
        # The same person again is a pronoun two times out of three.
        if before is not None and before.people == event.people and generator.random() < 2 / 3:
            word = PEOPLE[event.people[0]] if len(event.people) == 1 else "they"
            pronouns.append(Pronoun(word, subject, Span(start, start + len(word)), named))
            shown = word.capitalize()
        else:
            shown = subject
            named = Span(start, start + len(shown))
        text += (" " if text else "") + f"{shown} {event.action}."
        spans.append(Span(start, len(text)))
        before = event
    return Story(text, question, answer, tuple(spans), supporting, tuple(pronouns))
