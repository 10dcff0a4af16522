"""A picture once for each word: as text, SVG, PNG and a page."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard.analysis.maps import AttentionMap
from regard.analysis.overlay import Overlay, overlay
from regard.analysis.view import TraceRecord
from regard.errors import UserError
from regard.plotting.overlay import GAP, LINE, PANEL


@pytest.fixture
def shown() -> Overlay:
    """Four cells; of three words the first is two tokens, and the last attends to the last cell."""
    rows = ("a", "pple", " <b>", " tree", "</s>")
    weights = torch.full((2, 5, 4), 0.1)
    weights[:, :2, 0], weights[:, 2, 1], weights[:, 3, 3] = 0.7, 0.7, 0.7
    cells = ("0,0", "0,1", "1,0", "1,1")
    picture = np.full((32, 32, 3), 200, np.uint8)
    maps = [AttentionMap(name, weights, rows, cells) for name in ("decoder.layers.0", "decoder.layers.1")]
    record = TraceRecord("a caption", cells, (), (), rows, tuple(each.record() for each in maps), maps[1].name)
    return overlay(picture, maps, "decoder.layers.1", record)


def test_tokens_become_words_and_marks_are_left_out(shown: Overlay) -> None:
    assert shown.words == ("apple", "<b>", "tree") and shown.first == 1
    assert shown.shown.shape == (3, 2, 2)
    assert [int(word.argmax()) for word in shown.shown] == [0, 1, 3]


def test_in_a_terminal(shown: Overlay) -> None:
    lines = shown.text().splitlines()
    assert lines[0].startswith("██  │") and lines[-1].split() == ["appl", "<b>", "tree"]


def test_the_svg_is_whole_and_dark_where_weights_are_low(shown: Overlay, tmp_path: Path) -> None:
    root = ET.parse(shown.save(tmp_path / "a.svg")).getroot()
    rects = [rect for rect in root.iter("{http://www.w3.org/2000/svg}rect") if "opacity" in rect.attrib]
    assert len(rects) == 3 * 4 and [rect.get("opacity") for rect in rects[:2]] == ["0.00", "0.67"]
    labels = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert labels == ["the picture", "apple", "<b>", "tree"]
    assert "href" in next(root.iter("{http://www.w3.org/2000/svg}image")).attrib


def test_the_png_shows_the_same(shown: Overlay, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    pixels = np.asarray(Image.open(shown.save(tmp_path / "a.png")).convert("RGB").resize((700, 208)))
    assert (GAP + 4 * (PANEL + GAP), GAP + PANEL + GAP + LINE) == (700, 208)
    first = GAP + PANEL + GAP  # the left edge of the first word
    assert tuple(pixels[GAP + 20, first + 20]) == (200, 200, 200) and pixels[GAP + 20, first + PANEL - 20, 0] < 80


def test_the_page_carries_all_heads_and_survives_any_word(shown: Overlay, tmp_path: Path) -> None:
    page = shown.save(tmp_path / "a.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [each["name"] for each in data["maps"]] == ["decoder.layers.0", "decoder.layers.1"]
    assert data["first"] == "decoder.layers.1" and data["output_tokens"][2] == " <b>"
    assert np.array(data["maps"][0]["weights"]).shape == (2, 5, 4)


def test_another_ending_is_refused(shown: Overlay, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"saved as \.svg, \.png or \.html"):
        shown.save(tmp_path / "a.pdf")
