"""Bar charts: bars are as long as their values."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from regard.plotting import Axis, Bar, bar_chart

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("axis", [None, Axis("points", low=-5.0), Axis("seconds", log=True)])
def test_bars_are_as_long_as_their_values(axis: Axis | None, inside) -> None:
    entries = [Bar("one", 10.0, 8.0, 12.0), Bar("a <longer> name", 20.0, text="20 of 30")]
    root = inside(bar_chart("title", entries, axis))
    widths = [float(rect.attrib["width"]) for rect in root.iter(f"{SVG}rect")]
    assert widths[1] > widths[0] > 0
    if axis is None:
        assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert "20 of 30" in {text.text for text in root.iter(f"{SVG}text")}


def test_values_that_are_not_finite_leave_the_rest_drawn() -> None:
    drawn = bar_chart("", [Bar("good", 2.0, 1.0, 3.0), Bar("bad", math.nan, math.nan, math.inf)])
    widths = [float(bar.get("width", "nan")) for bar in ElementTree.fromstring(drawn).iter(f"{SVG}rect")]
    assert widths[0] > 0 and widths[1] == 0


def test_names_do_not_reach_into_the_bars(inside) -> None:
    """Twenty-six Chinese characters are 26 em wide; even longer names are cut."""
    root = inside(bar_chart("t", [Bar("注意力" * 8, 1.0), Bar("long " * 30, 1.0)]))
    left = min(float(rect.attrib["x"]) for rect in root.iter(f"{SVG}rect"))
    names = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert left > 24 * 12 and names[1].text.endswith("…")
