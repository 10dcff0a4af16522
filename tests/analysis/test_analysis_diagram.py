"""Boxes are those of the model that is built."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from regard.analysis.diagram import boxes, diagram
from regard.config import PRESETS


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (
            "lstm-additive",
            ["encoder: embeddings", "LSTM, both ways", "decoder: embeddings", "attention, additive score", "LSTM"],
        ),
        (
            "rnn-fixed-every-step",
            ["encoder: embeddings", "RNN", "decoder: embeddings", "vector c in every step", "RNN"],
        ),
        ("lstm-tagger", ["encoder: embeddings", "LSTM, both ways"]),
    ],
)
def test_boxes(tiny, preset: str, expected: list[str]) -> None:
    assert boxes(tiny(preset)) == [*expected, "output layer, softmax"]


def test_what_is_switched_shows(tiny) -> None:
    assert boxes(tiny("attention-rnn", encoder_depth=0))[:2] == ["encoder: embeddings", "decoder: embeddings"]
    assert "embeddings + positions" in boxes(tiny("transformer"))[0]
    assert "embeddings + positions" not in boxes(tiny("transformer", positions="none"))[0]
    assert any("masked self-attention" in box for box in boxes(tiny("transformer-language")))


@pytest.mark.parametrize("preset", [name for name in PRESETS if not name.startswith("image-")])
def test_every_preset_can_be_drawn(tiny, preset: str) -> None:
    ElementTree.fromstring(diagram(tiny(preset), preset))
