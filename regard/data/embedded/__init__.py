"""Corpora that need no download: generated, or read from installed packages; the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass

from regard.config import DataSettings
from regard.data.embedded import (
    addition,
    dates,
    grammar,
    languages,
    objects,
    parts_of_speech,
    prose,
    reviews,
    sequences,
    shapes,
    stories,
)
from regard.data.examples import Corpus, Example


@dataclass(frozen=True)
class Embedded:
    """A line for `regard data list`."""

    about: str
    example: Example


EMBEDDED: dict[str, Embedded] = {
    "dates": Embedded(dates.ABOUT, dates.EXAMPLE),
    "addition": Embedded(addition.ABOUT, addition.EXAMPLE),
    **{task: Embedded(about, sequences.example(task)) for task, about in sequences.ABOUT.items()},
    "stories": Embedded(stories.ABOUT, stories.EXAMPLE),
    **{name: Embedded(about, grammar.example(name)) for name, about in grammar.ABOUT.items()},
    "languages": Embedded(languages.ABOUT, languages.EXAMPLE),
    "reviews": Embedded(reviews.ABOUT, reviews.EXAMPLE),
    "parts-of-speech": Embedded(parts_of_speech.ABOUT, parts_of_speech.EXAMPLE),
    "prose": Embedded(prose.ABOUT, prose.EXAMPLE),
    "shapes": Embedded(shapes.ABOUT, shapes.EXAMPLE),
    "objects": Embedded(objects.ABOUT, objects.EXAMPLE),
}


def embedded_corpus(config: DataSettings) -> Corpus:
    """The embedded corpus named data.corpus."""
    match config.corpus:
        case "dates":
            return dates.make(config)
        case "addition":
            return addition.make(config)
        case "reverse" | "sort" | "copy":
            return sequences.make(config, config.corpus)
        case "stories":
            return stories.make(config)
        case "grammar-spanish" | "grammar-turkish":
            return grammar.make(config, config.corpus)
        case "reviews":
            return reviews.make(config)
        case "objects":
            return objects.make(config)
        case "languages":
            return languages.make(config)
        case "parts-of-speech":
            return parts_of_speech.make(config)
        case "prose":
            return prose.make(config)
        case "shapes":
            return shapes.make(config)
    raise ValueError(f"{config.corpus} is not embedded")
