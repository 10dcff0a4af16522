"""Scenes: written as they are read, and drawn where they say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from regard.data.embedded.scene import COLOURS, Scene, Thing, draw, parse
from regard.data.embedded.shapes import compose
from regard.errors import UserError

SCENE = "scene 7: small red circle 20,14; striped blue square 24,44"


def test_a_scene_is_written_as_it_is_read() -> None:
    scene = parse(SCENE)
    assert scene.things[0] == Thing("small", "plain", "red", "circle", 20, 14)
    assert str(scene) == SCENE
    generator = random.Random(3)
    for _ in range(200):
        scene, _ = compose(generator)
        assert parse(str(scene)) == scene


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scene x: red circle 1,1", "is not a scene"),
        ("scene 1: crimson circle 1,1", "'crimson' cannot be drawn"),
        ("scene 1: red circle", "is no object with a position"),
        ("scene 1: circle 3,3", "is no object with a position"),
    ],
)
def test_what_is_no_scene_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(text)


@pytest.mark.parametrize("size", [32, 64, 160])
def test_things_are_drawn_where_they_are_said_to_be(size: int) -> None:
    for colour in COLOURS:
        thing = Thing("large", "plain", colour, "square", 20, 40)
        pixels = draw(Scene(5, (thing,)), size).astype(float)
        ground = draw(Scene(5, (Thing("small", "plain", "red", "circle", 60, 5),)), size).astype(float)
        changed = abs(pixels - ground).max(-1) > 8
        left, top, right, bottom = (round(edge * size / 64) for edge in thing.box)
        edge = round(0.25 * (right - left) / 2)
        assert changed[top + edge : bottom - edge, left + edge : right - edge].all()
        outside = changed.copy()
        outside[: 13 * size // 64, 50 * size // 64 :] = False  # the other thing
        outside[top:bottom, left:right] = False
        assert not outside.any()


def test_a_scene_is_drawn_alike_each_time_and_textures_differ() -> None:
    scene = parse(SCENE)
    assert np.array_equal(draw(scene, 64), draw(scene, 64))
    images = [
        draw(Scene(5, (Thing("large", texture, "green", "circle", 32, 32),)), 64).tobytes()
        for texture in ("plain", "striped", "dotted")
    ]
    assert len(set(images)) == 3
