"""Object recognition: an image of one object and the name of its shape, whatever its colour, size, texture, place."""

from __future__ import annotations

import random
from pathlib import Path

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.scene import COLOURS, RADIUS, SHAPES, SIDE, TEXTURES, Scene, Thing
from regard.data.examples import Corpus, Example

ABOUT = "classification of images: which of six shapes is it, whatever its colour, size, texture and place?"
EXAMPLE = Example("scene 7: small red circle 20,14", "circle")
MARGIN = 1  # units to the image's edge


def make(config: DataSettings) -> Corpus:
    wanted = counts(config, 6000, 500, available=1_000_000, remedy="ask for fewer")
    generator = random.Random(f"objects {config.seed}")
    different: dict[str, str] = {}
    while len(different) < wanted.total:
        thing = _thing(generator)
        different.setdefault(str(Scene(generator.randrange(10**6), (thing,))), thing.shape)
    examples = [Example(*pair) for pair in different.items()]
    held = wanted.test + wanted.dev
    return Corpus(
        name="objects",
        test=examples[: wanted.test],
        dev=examples[wanted.test : held],
        train=examples[held:],
        skipped=[],
        notes=(f"{len(SHAPES)} shapes",),
        task="classification",
        tokenizer=TokenizerSettings(kind="word", shared=False),
        model="image-classifier",
        images=Path(),
    )


def _thing(generator: random.Random) -> Thing:
    size = generator.choice(list(RADIUS))
    reach = int(RADIUS[size]) + 1 + MARGIN
    return Thing(
        size=size,
        texture=generator.choice(TEXTURES) if size != "small" else "plain",
        colour=generator.choice(list(COLOURS)),
        shape=generator.choice(SHAPES),
        x=generator.randint(reach, SIDE - reach),
        y=generator.randint(reach, SIDE - reach),
    )
