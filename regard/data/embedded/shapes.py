"""Images of one to three shapes with captions that say how they stand to each other."""

from __future__ import annotations

import random
from pathlib import Path

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.scene import COLOURS, RADIUS, SHAPES, SIDE, TEXTURES, Scene, Thing
from regard.data.examples import Corpus, Example

ABOUT = "captions of images: one to three shapes, their colours, sizes, textures, and how they stand to each other"
EXAMPLE = Example(
    "scene 7: small red circle 20,14; striped blue square 24,44", "a small red circle above a striped blue square"
)
GAP, MARGIN = 3, 1  # units between two things, and to the image's edge
OBJECTS = {1: 0.06, 2: 0.64, 3: 0.30}  # how many, and how often; one thing alone has the fewest captions
AROUND = ("circle", "square")  # what another thing can be inside of
POSITIONS = {
    "at the top": (32, 12),
    "at the bottom": (32, 52),
    "on the left": (12, 32),
    "on the right": (52, 32),
    "in the middle": (32, 32),
}
WANDER = 5  # units that a thing alone may be away from its position


def make(config: DataSettings) -> Corpus:
    """Every caption occurs once in the whole corpus: no caption of the test is one of training."""
    wanted = counts(config, 20_000, 1000, available=100_000, remedy="ask for fewer")
    generator = random.Random(f"shapes {config.seed}")
    by_caption: dict[str, Example] = {}
    while len(by_caption) < wanted.total:
        scene, caption = compose(generator)
        by_caption.setdefault(caption, Example(str(scene), caption))
    examples = list(by_caption.values())
    generator.shuffle(examples)  # in the order of drawing the rare kinds would come first
    held = wanted.test + wanted.dev
    return Corpus(
        name="shapes",
        test=examples[: wanted.test],
        dev=examples[wanted.test : held],
        train=examples[held:],
        skipped=[],
        notes=("no caption of dev or test is in train",),
        task="captioning",
        tokenizer=TokenizerSettings(kind="word", shared=False),
        model="image-grid-transformer",
        images=Path(),
    )


def compose(generator: random.Random) -> tuple[Scene, str]:
    """A scene and its only caption: the upper, left or inner thing is named first."""
    while True:
        number = generator.choices(list(OBJECTS), list(OBJECTS.values()))[0]
        composition = _alone(generator) if number == 1 else _inside(generator) if _nested(generator, number) else None
        things, caption = composition or _row(generator, number)
        if things:
            # what lies inside is named first and drawn last
            drawn = things[::-1] if " inside " in caption else things
            return Scene(generator.randrange(10**6), drawn), caption


def _nested(generator: random.Random, number: int) -> bool:
    return number == 2 and generator.random() < 0.25


def _thing(generator: random.Random, size: str | None = None, shapes: tuple[str, ...] = SHAPES) -> Thing:
    size = size or generator.choice(list(RADIUS))
    return Thing(
        size=size,
        texture=generator.choices(TEXTURES, (2, 1, 1))[0] if size != "small" else "plain",  # 13 pixels show no texture
        colour=generator.choice(list(COLOURS)),
        shape=generator.choice(shapes),
        x=0,
        y=0,
    )


def _at(thing: Thing, x: int, y: int) -> Thing:
    return Thing(thing.size, thing.texture, thing.colour, thing.shape, x, y)


def _alone(generator: random.Random) -> tuple[tuple[Thing, ...], str]:
    thing = _thing(generator)
    position = generator.choice(list(POSITIONS))
    reach = SIDE - RADIUS[thing.size] - MARGIN
    x, y = (centre + generator.randint(-WANDER, WANDER) for centre in POSITIONS[position])
    x, y = (int(min(max(value, SIDE - reach + 1), reach)) for value in (x, y))
    return (_at(thing, x, y),), f"{_named(thing)} {position}"


def _inside(generator: random.Random) -> tuple[tuple[Thing, ...], str]:
    outer, inner = _thing(generator, "large", AROUND), _thing(generator, "small")
    if inner.colour == outer.colour:
        return (), ""
    x, y = (generator.randint(16, SIDE - 16) for _ in range(2))
    things = _at(inner, x + generator.randint(-2, 2), y + generator.randint(-2, 2)), _at(outer, x, y)
    return things, f"{_named(inner)} inside {_named(outer)}"


def _row(generator: random.Random, number: int) -> tuple[tuple[Thing, ...], str]:
    """Things side by side or one below the other; none where they do not fit."""
    things = [_thing(generator) for _ in range(number)]
    radii = [RADIUS[thing.size] for thing in things]
    spare = SIDE - 2 * MARGIN - 2 * sum(radii) - GAP * (number - 1)
    if spare < 0:
        return (), ""
    cuts = sorted(generator.uniform(0, spare) for _ in range(number))
    along, end = [], float(MARGIN)
    for index, radius in enumerate(radii):
        along.append(round(cuts[index] + end + radius))
        end += 2 * radius + GAP
    middle = generator.uniform(16, SIDE - 16)
    across = [_across(generator, middle, radius) for radius in radii]
    steps = [(abs(a - b), abs(c - d)) for a, b, c, d in zip(along, along[1:], across, across[1:], strict=False)]
    if any(forward < 1.3 * aside + 2 for forward, aside in steps):  # neither beside nor above
        return (), ""
    lies = generator.random() < 0.5
    placed = tuple(_at(thing, *((a, b) if lies else (b, a))) for thing, a, b in zip(things, along, across, strict=True))
    return placed, f" {'left of' if lies else 'above'} ".join(map(_named, placed))


def _across(generator: random.Random, middle: float, radius: float) -> int:
    value = middle + generator.uniform(-10, 10)
    return round(min(max(value, radius + MARGIN), SIDE - radius - MARGIN))


def _named(thing: Thing) -> str:
    words = thing.words
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def mentions(scene: Scene, caption: str) -> list[tuple[Thing, tuple[int, int]]]:
    """Each thing in the order of the caption, with the characters (start, end) of its noun."""
    mentioned, end = [], 0
    for thing in scene.things[::-1] if " inside " in caption else scene.things:
        end = caption.index(thing.words, end) + len(thing.words)
        mentioned.append((thing, (end - len(thing.shape), end)))
    return mentioned
