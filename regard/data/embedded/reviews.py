"""Sentiment of reviews. A negation turns a judgement round, and what comes after "but" decides."""

from __future__ import annotations

import random

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.world import pick
from regard.data.examples import Corpus, Example

ABOUT = "classification: is a review positive or negative? With negation (not dull) and contrast (dull, but …)"
EXAMPLE = Example("The first hour was dull, but the ending was not bad.", "positive")
GOOD = ("lovely", "moving", "funny", "clever", "fresh", "warm", "great", "gripping", "charming", "bright")
BAD = ("dull", "noisy", "endless", "silly", "flat", "cold", "bad", "boring", "clumsy", "bleak")
THINGS = ("film", "story", "music", "cast", "ending", "script", "first hour", "dialogue", "camera work", "last scene")
SUBJECTS = ("We", "My friends", "The critics", "My parents")
NEGATIONS = ("was not", "was never", "was hardly")
REASONS = ("We saw it on a rainy day.", "It ran for two hours.", "The hall was full.", "I had read the book.")
NEGATED, CONTRAST, AGREEING = 0.35, 0.45, 0.25


def make(config: DataSettings) -> Corpus:
    wanted = counts(config, 10_000, 1000, available=1_000_000, remedy="ask for fewer")
    generator = random.Random(f"reviews {config.seed}")
    different: dict[str, str] = {}
    while len(different) < wanted.total:
        text, positive = _review(generator)
        different.setdefault(text, "positive" if positive else "negative")
    examples = [Example(*pair) for pair in different.items()]
    held = wanted.test + wanted.dev
    return Corpus(
        name="reviews",
        test=examples[: wanted.test],
        dev=examples[wanted.test : held],
        train=examples[held:],
        images=None,
        languages=None,
        skipped=[],
        notes=("no word alone decides: every judgement occurs negated, and before a but that turns it round",),
        task="classification",
        tokenizer=TokenizerSettings(kind="word"),
        model="lstm-classifier",
    )


def _review(generator: random.Random) -> tuple[str, bool]:
    """A review, and whether it is positive."""
    positive, chance = generator.random() < 0.5, generator.random()
    if chance < CONTRAST:  # the second half decides
        text = f"{_judgement(generator, not positive)}, but {_lower(_judgement(generator, positive))}."
    elif chance < CONTRAST + AGREEING:
        text = f"{_judgement(generator, positive)}, and {_lower(_judgement(generator, positive))}."
    else:
        text = f"{_judgement(generator, positive)}."
    return (f"{pick(generator, REASONS)} {text}" if generator.random() < 0.4 else text), positive


def _judgement(generator: random.Random, positive: bool) -> str:
    negated = generator.random() < NEGATED
    word = pick(generator, GOOD if positive != negated else BAD)
    if generator.random() < 0.3:
        found = "did not find" if negated else "found"
        return f"{pick(generator, SUBJECTS)} {found} the {pick(generator, THINGS)} {word}"
    return f"The {pick(generator, THINGS)} {pick(generator, NEGATIONS) if negated else 'was'} {word}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
