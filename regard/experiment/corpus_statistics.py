"""What a corpus is like: how much text there is, and of what kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from regard.config import ModelPlan
from regard.config.settings import CELL
from regard.data.corpus import Example
from regard.data.placeholders import difference, find_placeholders

SAMPLED = 10_000  # pairs that are searched for placeholders


@dataclass(frozen=True)
class CorpusStatistics:
    """What decides about settings that were left open."""

    pairs: int
    different: int  # sources; pairs, where these are empty
    source: float  # mean characters
    target: float
    letters: int  # different characters
    overlap: float  # how much of the text on each side is written in characters that both sides use
    cells: int = 0  # positions of an image
    placeholders: float = 0.0  # share of the pairs that hold the same placeholders on both sides

    @property
    def longer(self) -> float:
        return max(self.source, self.target)

    @property
    def text(self) -> float:
        """Characters to learn from, on the longer side; a second target for a source tells little that is new."""
        return self.different * self.longer


def measure_text(examples: list[Example]) -> CorpusStatistics:
    sources, targets = _letters(e.source for e in examples), _letters(e.target for e in examples)
    both = sources.keys() & targets.keys()
    shares = [sum(side[letter] for letter in both) / max(side.total(), 1) for side in (sources, targets)]
    pairs = max(len(examples), 1)
    different = len({e.source for e in examples}) if sources else pairs
    means = sources.total() / pairs, targets.total() / pairs
    letters = len(sources.keys() | targets.keys())
    return CorpusStatistics(pairs, different, *means, letters, min(shares), placeholders=_placeholders(examples))


def measure_captions(examples: list[Example], model: ModelPlan) -> CorpusStatistics:
    """Of images only the captions are text."""
    text = measure_text([Example("", example.target) for example in examples])
    return replace(text, cells=(model.image_size // CELL) ** 2)


def _placeholders(examples: list[Example]) -> float:
    """Of some thousands of pairs from all of the corpus."""
    some = examples[:: max(1, len(examples) // SAMPLED)]
    both = sum(
        bool(sources := find_placeholders(example.source))
        and not difference(sources, find_placeholders(example.target))
        for example in some
    )
    return both / max(len(some), 1)


def count_words(texts: Iterable[str]) -> int:
    """Different ones."""
    return len({word for text in texts for word in text.split()})


def _letters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    return counts
