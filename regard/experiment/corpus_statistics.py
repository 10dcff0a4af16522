"""What a corpus is like: how much text there is, and of what kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from regard.config import ModelPlan
from regard.config.values import CELL
from regard.data.corpus import Example
from regard.data.inventory import Inventory, take_inventory
from regard.data.placeholders import difference, find_placeholders

SAMPLED = 4000  # pairs that are searched for placeholders
PLACEHOLDERS_SHARE, PLACEHOLDERS_PAIRS = 0.01, 100


@dataclass(frozen=True)
class CorpusStatistics:
    """What decides about settings that were left open."""

    pairs: int
    different: int  # sources; pairs, where these are empty
    source: Inventory
    target: Inventory
    overlap: float  # how much of the text on each side is written in characters that both sides use
    cells: int = 0  # positions of an image
    words_once: float = 0.0  # share of the words of captions that are seen once
    placeholders: float = 0.0  # share of the pairs that hold the same placeholders on both sides

    @property
    def teaches_placeholders(self) -> bool:
        """Enough pairs hold some to learn to place them; otherwise the attention tells where they belong."""
        return self.placeholders >= PLACEHOLDERS_SHARE and self.placeholders * self.pairs >= PLACEHOLDERS_PAIRS

    @property
    def longer(self) -> float:
        """Characters of the longer side, in the mean."""
        return max(self.source.characters, self.target.characters)

    @property
    def length(self) -> float:
        """The same in symbols, where a side is made of them."""
        return max(self.source.length, self.target.length)

    @property
    def text(self) -> float:
        """Characters to learn from, on the longer side; a second target for a source tells little that is new."""
        return self.different * self.longer


def measure_text(examples: list[Example]) -> CorpusStatistics:
    source = take_inventory([example.source for example in examples])
    target = take_inventory([example.target for example in examples])
    both = source.letters.keys() & target.letters.keys()
    shares = [sum(side[letter] for letter in both) / max(side.total(), 1) for side in (source.letters, target.letters)]
    pairs = max(len(examples), 1)
    different = len({e.source for e in examples}) if source.letters else pairs
    return CorpusStatistics(pairs, different, source, target, min(shares), placeholders=_placeholders(examples))


def measure_captions(examples: list[Example], model: ModelPlan) -> CorpusStatistics:
    """Of images only the captions are text."""
    target = take_inventory([example.target for example in examples])
    words = Counter(word for example in examples for word in example.target.split())
    once = sum(times == 1 for times in words.values()) / max(words.total(), 1)
    pairs, cells = max(len(examples), 1), (model.image_size // CELL) ** 2
    return CorpusStatistics(pairs, pairs, take_inventory([]), target, 0.0, cells, once)


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
