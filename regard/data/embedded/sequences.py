"""Letters to be reversed, sorted or copied: small tasks whose right attention is known."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from string import ascii_lowercase

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts, distinct
from regard.data.examples import Corpus, Example

TASKS: dict[str, Callable[[str], str]] = {
    "reverse": lambda letters: letters[::-1],
    "sort": lambda letters: "".join(sorted(letters)),
    "copy": lambda letters: letters,
}
ABOUT = {
    "reverse": "letters back to front (data.lengths, data.test_lengths)",
    "sort": "letters in the order of the alphabet (data.lengths, data.test_lengths)",
    "copy": "the same letters again (data.lengths, data.test_lengths)",
}


def example(task: str, letters: str = "dbcab") -> Example:
    return Example(letters, TASKS[task](letters))


def make(config: DataSettings, task: str) -> Corpus:
    """Every length is equally frequent, as far as there are enough strings of it."""
    generator = random.Random(f"sequences {config.seed}")
    lengths, test_lengths = _range(config.lengths), _range(config.test_lengths or config.lengths)
    remedy = "ask for fewer or raise data.lengths"
    # Where train and test share lengths they share the strings: only what all may draw from is surely enough.
    available = _available(lengths) if config.test_lengths is None else min(map(_available, (lengths, test_lengths)))
    wanted = counts(config, 20_000, 1000, available, remedy)
    if config.test_lengths is None:
        strings = _draw(generator, wanted.total, lengths, set())
        test, rest = strings[: wanted.test], strings[wanted.test :]
    else:
        test = _draw(generator, wanted.test, test_lengths, set())
        rest = _draw(generator, wanted.dev + wanted.train, lengths, set(test))
    return Corpus(
        name=task,
        test=[example(task, letters) for letters in test],
        dev=[example(task, letters) for letters in rest[: wanted.dev]],
        train=[example(task, letters) for letters in rest[wanted.dev :]],
        skipped=[],
        notes=wanted.notes,
        task="translation",
        tokenizer=TokenizerSettings(kind="character", shared=True),
        model="lstm-additive",
    )


def _range(text: str) -> range:
    low, high = (int(part) for part in text.split("-"))
    return range(low, high + 1)


def _available(lengths: range) -> int:
    return sum(len(ascii_lowercase) ** length for length in lengths)


def _draw(generator: random.Random, count: int, lengths: range, taken: set[str]) -> list[str]:
    def draw() -> str:
        while True:
            letters = "".join(generator.choices(ascii_lowercase, k=generator.choice(lengths)))
            if letters not in taken:
                return letters

    def every() -> list[str]:
        strings = ("".join(s) for n in lengths for s in itertools.product(ascii_lowercase, repeat=n))
        return [letters for letters in strings if letters not in taken]

    return distinct(generator, count, draw, every, _available(lengths) - len(taken))
