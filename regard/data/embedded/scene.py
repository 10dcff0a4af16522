"""Scenes of shapes: written as a line of text, drawn by arithmetic; the position of every object is known.

    scene 4711: small red circle 20,14; striped blue square 40,46

The number decides the ground, the shades and the textures; positions are in 64ths of the image's side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from regard.errors import UserError

SIDE = 64  # units of an image's side
FINER = 3  # samples a pixel and axis, averaged: smooth edges
RADIUS = {"small": 6.5, "medium": 10.0, "large": 14.5}
COLOURS = {
    "red": (0.85, 0.12, 0.12),
    "orange": (0.98, 0.55, 0.05),
    "yellow": (0.97, 0.90, 0.15),
    "green": (0.10, 0.62, 0.20),
    "blue": (0.12, 0.25, 0.85),
    "purple": (0.55, 0.15, 0.70),
    "white": (0.98, 0.98, 0.98),
    "black": (0.05, 0.05, 0.05),
}
SHAPES = ("circle", "square", "triangle", "star", "cross", "diamond")
TEXTURES = ("plain", "striped", "dotted")
SILENT = {"medium", "plain"}  # what goes without saying
SCENE = re.compile(r"scene (\d{1,9}): (.+)")
WANTED = 'write it as "scene 7: small red circle 20,14; striped blue square 40,46"'


@dataclass(frozen=True)
class Thing:
    """One object; x and y are its centre."""

    size: str
    texture: str
    colour: str
    shape: str
    x: int
    y: int

    @property
    def words(self) -> str:
        """'small striped blue square'."""
        return " ".join(w for w in (self.size, self.texture, self.colour, self.shape) if w not in SILENT)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom in units."""
        radius = RADIUS[self.size]
        return self.x - radius, self.y - radius, self.x + radius, self.y + radius


@dataclass(frozen=True)
class Scene:
    number: int
    things: tuple[Thing, ...]

    def __str__(self) -> str:
        return f"scene {self.number}: " + "; ".join(f"{thing.words} {thing.x},{thing.y}" for thing in self.things)


def is_scene(text: str) -> bool:
    return text.startswith("scene ")


def parse(text: str) -> Scene:
    """The inverse of str(scene)."""
    match = SCENE.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is not a scene; {WANTED}")
    return Scene(int(match[1]), tuple(_thing(part.strip(), text) for part in match[2].split(";")))


def _thing(part: str, text: str) -> Thing:
    *words, position = part.split()
    attributes = {"size": "medium", "texture": "plain"}
    known = {"size": RADIUS, "texture": TEXTURES, "colour": COLOURS, "shape": SHAPES}
    for word in words:
        kind = next((kind for kind, values in known.items() if word in values), None)
        if kind is None:
            every = ", ".join(name for values in known.values() for name in values)
            raise UserError(f"{text!r}: {word!r} cannot be drawn; there are {every}")
        attributes[kind] = word
    if not re.fullmatch(r"\d{1,2},\d{1,2}", position) or not {"colour", "shape"} <= attributes.keys():
        raise UserError(f"{text!r}: {part!r} is no object with a position; {WANTED}")
    x, y = map(int, position.split(","))
    if max(x, y) >= SIDE:
        raise UserError(f"{text!r}: {position} lies outside the image; positions go from 0 to {SIDE - 1}")
    return Thing(attributes["size"], attributes["texture"], attributes["colour"], attributes["shape"], x, y)


def draw(scene: Scene, size: int) -> np.ndarray:
    """The image (size, size, 3) as bytes, the same everywhere: later things are drawn over earlier ones."""
    generator = np.random.default_rng(scene.number)
    canvas = _ground(generator, size)
    for thing in scene.things:
        radius = RADIUS[thing.size] * generator.uniform(0.92, 1.0)
        colour = np.array(COLOURS[thing.colour]) * generator.uniform(0.9, 1.0)
        other = 0.45 * colour if colour.mean() > 0.3 else 0.45 * colour + 0.5
        rows, down = _samples(thing.y, radius, size)
        columns, across = _samples(thing.x, radius, size)
        y, x = down[:, None], across[None, :]
        inside = _inside(thing.shape, x / radius, y / radius)
        marked = _shares(inside & _marks(thing.texture, x, y, generator))
        covered = _shares(inside)
        patch = canvas[rows, columns]
        patch *= 1 - covered
        patch += marked * other + (covered - marked) * colour
    return np.round(255 * canvas).astype(np.uint8)


def _samples(centre: int, radius: float, size: int) -> tuple[slice, np.ndarray]:
    """The pixels that a thing may touch along one axis, and the positions of their samples relative to its centre."""
    pixel = SIDE / size
    first = max(int((centre - radius) / pixel), 0)
    last = min(int((centre + radius) / pixel) + 1, size)
    positions = (np.arange(first * FINER, last * FINER) + 0.5) * pixel / FINER - centre
    return slice(first, last), positions.astype(np.float32)


def _shares(samples: np.ndarray) -> np.ndarray:
    """How much of each pixel its samples cover: (FINER·h, FINER·w) → (h, w, 1)."""
    height, width = (side // FINER for side in samples.shape)
    return samples.reshape(height, FINER, width, FINER).mean((1, 3), dtype=np.float32)[..., None]


def _ground(generator: np.random.Generator, size: int) -> np.ndarray:
    """A pale grey with a tint that changes from one side to the other: no object has such a colour."""
    first, last = (generator.uniform(0.45, 0.75) + generator.uniform(-0.06, 0.06, 3) for _ in range(2))
    share = (np.arange(size) + 0.5)[:, None, None] / size
    ramp = first + (last - first) * (share if generator.random() < 0.5 else share.transpose(1, 0, 2))
    return np.broadcast_to(ramp, (size, size, 3)).astype(np.float32)


def _inside(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where the shape of radius 1 around (0, 0) is; y grows downwards."""
    match shape:
        case "circle":
            return x * x + y * y < 1
        case "square":
            return np.maximum(abs(x), abs(y)) < 0.86
        case "diamond":
            return abs(x) + abs(y) < 1
        case "triangle":
            return (abs(x) < 0.5 * (y + 1)) & (y < 0.86)
        case "cross":
            return np.minimum(abs(x), abs(y)) < 0.3
        case _:  # star
            angle = np.arctan2(x, -y)
            turn = abs(np.mod(angle, 2 * np.pi / 5) - np.pi / 5) / (np.pi / 5)  # 1 at a tip, 0 between two
            return np.hypot(x, y) < 0.42 + 0.58 * turn**1.6


def _marks(texture: str, x: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Where the darker (on black: lighter) marks are; period and turn come from the generator."""
    period, turn, shift = generator.uniform(4.0, 5.0), generator.integers(4) * np.pi / 4, generator.uniform(0, 5)
    match texture:
        case "striped":
            return np.mod(np.cos(turn) * x + np.sin(turn) * y + shift, period) < 0.45 * period
        case "dotted":
            across, down = (np.mod(axis + shift, period) - period / 2 for axis in (x, y))
            return across**2 + down**2 < (0.32 * period) ** 2
        case _:
            return np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
