"""Addition of two numbers, digit by digit: "345+78" → "423"."""

from __future__ import annotations

import random

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts, distinct
from regard.data.examples import Corpus, Example

ABOUT = "sums of two numbers, character by character (data.digits)"
EXAMPLE = Example("345+78", "423")


def make(config: DataSettings) -> Corpus:
    """Summands of 1 to data.digits digits. a+b and b+a are one sum: neither is held out while the other trains."""
    generator = random.Random(f"addition {config.seed}")
    numbers = 10**config.digits
    available = numbers * (numbers + 1) // 2
    wanted = counts(config, 50_000, 1000, available, "ask for fewer or raise data.digits")

    def number() -> int:
        return generator.randrange(10 ** generator.randint(1, config.digits))

    def draw() -> tuple[int, int]:
        a, b = number(), number()
        return min(a, b), max(a, b)

    def every() -> list[tuple[int, int]]:
        return [(a, b) for a in range(numbers) for b in range(a, numbers)]

    sums = distinct(generator, wanted.total, draw, every, available)
    examples = []
    for pair in sums:
        a, b = pair if generator.random() < 0.5 else pair[::-1]
        examples.append(Example(f"{a}+{b}", str(a + b)))
    return Corpus(
        name="addition",
        test=examples[: wanted.test],
        dev=examples[wanted.test : wanted.test + wanted.dev],
        train=examples[wanted.test + wanted.dev :],
        skipped=[],
        notes=wanted.notes,
        task="translation",
        tokenizer=TokenizerSettings(kind="character", shared=True),
        model="lstm-additive",
    )
