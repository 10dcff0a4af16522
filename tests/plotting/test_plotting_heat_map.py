"""Heat maps: a cell for every weight that can be seen, and labels that do not meet the cells."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from regard.plotting import HeatMap, heat_map, heat_maps

SVG = "{http://www.w3.org/2000/svg}"


def cells(root: ElementTree.Element) -> list[str]:
    titles = [rect.find(f"{SVG}title") for rect in root.iter(f"{SVG}rect")]
    return [title.text for title in titles if title is not None]


@pytest.fixture
def five_heads() -> HeatMap:
    weights = [[[0.0, 0.01, 0.99], [1.0, 0.0, 0.0]]] * 5
    return HeatMap("decoder.attention", weights, ["狐狸跳过了", "b"], ["x", "الثعلب", "z"])


def test_a_single_map_has_every_cell_and_wraps_after_four_heads(five_heads: HeatMap) -> None:
    root = ElementTree.fromstring(heat_map(five_heads))
    assert len(cells(root)) == 5 * 2 * 3 and cells(root)[0] == "狐狸跳过了 → x: 0.000 (head 0)"
    panels = [group.attrib["transform"] for group in root.iter(f"{SVG}g")]
    x, y = zip(*(panel.removeprefix("translate(")[:-1].split(",") for panel in panels), strict=True)
    assert len(panels) == 5 and x[0] == x[4] and y[0] == y[3] != y[4]
    assert float(x[0]) > 5 * 13  # five Chinese characters stand left of the cells


def test_many_maps_leave_faint_cells_out(five_heads: HeatMap) -> None:
    one_head = HeatMap("encoder.rollout", five_heads.weights[:1], five_heads.rows, five_heads.columns)
    root = ElementTree.fromstring(heat_maps("a → b", [five_heads, one_head]))
    assert len(cells(root)) == 6 * 2
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts.count("head 4") == 1 and texts.count("head 0") == 1  # a single head has no number
    assert {"a → b", "decoder.attention", "encoder.rollout"} <= set(texts)


def test_the_sheet_is_as_wide_as_its_title() -> None:
    small = HeatMap("m", [[[1.0]]], ["a"], ["b"])
    assert float(ElementTree.fromstring(heat_maps("word " * 60, [small])).attrib["width"]) > 60 * 5 * 6
