"""What a corpus is like: how much text there is, and of what kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from regard.config import ModelPlan
from regard.config.settings import CELL
from regard.data.corpus import Example


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
    return CorpusStatistics(pairs, different, *means, len(sources.keys() | targets.keys()), min(shares))


def measure_captions(examples: list[Example], model: ModelPlan) -> CorpusStatistics:
    """Of images only the captions are text."""
    text = measure_text([Example("", example.target) for example in examples])
    return replace(text, cells=(model.image_size // CELL) ** 2)


def count_words(texts: Iterable[str]) -> int:
    """Different ones."""
    return len({word for text in texts for word in text.split()})


def _letters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    return counts
