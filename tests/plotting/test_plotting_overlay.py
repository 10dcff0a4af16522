"""Overlays: the image once for each word, dark where the weight is low."""

from __future__ import annotations

from xml.etree import ElementTree

from regard.plotting.overlay import draw_overlay

SVG = "{http://www.w3.org/2000/svg}"
IMAGE = "data:image/png;base64,"


def test_the_veil_is_lightest_on_the_greatest_weight() -> None:
    root = ElementTree.fromstring(draw_overlay(IMAGE, ["<b>", "很" * 20], [[[0.5, 0.1], [0.2, 0.2]]] * 2))
    veil = [rect.get("opacity") for rect in root.iter(f"{SVG}rect") if "opacity" in rect.attrib]
    assert veil[:4] == ["0.00", "0.62", "0.47", "0.47"] and len(veil) == 8
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert labels[:2] == ["the picture", "<b>"] and labels[2].endswith("…")
    assert len(list(root.iter(f"{SVG}use"))) == 3
