"""Chance in the lesson on captions, where it can be counted."""

from __future__ import annotations

import pytest

from regard.apps.lessons.captioning import chance
from regard.data.embedded.scene import parse
from regard.evaluation.pointing import in_box


def test_chance_is_the_share_of_cells_on_the_objects() -> None:
    scene = parse("scene 7: small red circle 20,14; striped blue square 24,44")
    shares = [sum(in_box(thing, cell, 64) for cell in range(64)) / 64 for thing in scene.things]
    caption = "a small red circle above a striped blue square"
    assert chance(scene, caption, 64) == pytest.approx(sum(shares) / 2)
    assert 0 < min(shares) < 0.5
