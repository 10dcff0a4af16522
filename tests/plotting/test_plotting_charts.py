"""Charts are well-formed and say what the numbers say; pages need nothing from outside."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest

from regard.plotting import COLOURS, Axis, Bar, Line, Panel, bars, page, picture, table
from regard.plotting.chart import smooth
from regard.plotting.scale import Scale, log_ticks, ticks

SVG = "{http://www.w3.org/2000/svg}"


def inside(svg: str) -> ElementTree.Element:
    """Nothing is drawn off the sheet."""
    root = ElementTree.fromstring(svg)
    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    for line in root.iter(f"{SVG}polyline"):
        for place in line.attrib["points"].split():
            x, y = map(float, place.split(","))
            assert 0 <= x <= width and 0 <= y <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= width and 0 <= float(text.attrib["y"]) <= height
    return root


def test_logarithmic_axes_make_a_power_straight() -> None:
    points = [(2.0**i, 3 * 4.0**i) for i in range(4, 13)]
    lines = [Line("a", points, COLOURS[0]), Line("b", [(16, 1), (4096, 2)], COLOURS[1], dashed=True)]
    panel = Panel("time", lines, x=Axis("length", log=True), y=Axis("seconds", log=True))
    root = inside(picture("growth", [panel]))
    line = next(iter(root.iter(f"{SVG}polyline"))).attrib["points"].split()
    places = [tuple(map(float, place.split(","))) for place in line]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(places)]
    assert max(slopes) - min(slopes) < 0.01
    assert {"length", "a", "b"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_many_lines_have_a_legend_in_rows() -> None:
    lines = [Line(f"architecture number {i}", [(0, i), (1, i)], COLOURS[i]) for i in range(9)]
    lines.append(Line("architecture number 0", [(0, 3), (1, 4)], COLOURS[0]))  # another seed
    root = inside(picture("", [Panel("quality", lines), Panel("quality", lines[:1])]))
    names = [text.text for text in root.iter(f"{SVG}text") if (text.text or "").startswith("architecture")]
    assert len(names) == len(set(names)) == 9


@pytest.mark.parametrize("axis", [None, Axis("points", low=-5.0), Axis("seconds", log=True)])
def test_bars_are_as_long_as_their_values(axis: Axis | None) -> None:
    entries = [Bar("one", 10.0, 8.0, 12.0), Bar("a <longer> name", 20.0, text="20 of 30")]
    root = inside(bars("title", entries, axis))
    widths = [float(rect.attrib["width"]) for rect in root.iter(f"{SVG}rect")]
    assert widths[1] > widths[0] > 0
    if axis is None:
        assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert "20 of 30" in {text.text for text in root.iter(f"{SVG}text")}


def test_what_cannot_be_drawn_leaves_the_rest_drawn() -> None:
    drawn = bars("", [Bar("good", 2.0, 1.0, 3.0), Bar("bad", math.nan, math.nan, math.inf)])
    widths = [float(one.get("width", "nan")) for one in ElementTree.fromstring(drawn).iter(f"{SVG}rect")]
    assert widths[0] > 0 and widths[1] == 0
    lines = [Line("seen", [(0.0, 1.0), (1.0, 2.0)]), Line("unseen", []), Line("too", [(0.0, 0.0)], COLOURS[1])]
    assert "unseen</text>" not in (chart := picture("", [Panel("", lines)])) and "seen</text>" in chart


def test_log_ticks_are_few_and_inside() -> None:
    assert log_ticks(1, 100) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(1e-6, 1e6, 7) == [1e-6, 1e-4, 1e-2, 1, 100, 1e4, 1e6]
    assert Scale.over(Axis(log=True), [5.0], 0, 100).ticks(5)


def test_a_page_is_whole_in_itself() -> None:
    html = page("a <title>", [table(["x", "y"], [["1", "2"]]), picture("", [])])
    assert "a &lt;title&gt;" in html and "<td>2</td>" in html
    assert not re.search(r"""(src|href)\s*=|url\(|@import""", html)


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert ticks(0.3, 2.9) == [1, 2]
    assert ticks(2, 2) == [2]
    assert all(0.013 <= value <= 0.017 for value in ticks(0.013, 0.017))


def test_smoothing_keeps_the_mean_and_bounds_the_points() -> None:
    points = [(float(i), float(i % 7)) for i in range(1000)]
    smoothed = smooth(points, 150)
    assert len(smoothed) <= 150
    assert smooth(points[:10]) == points[:10]
    assert smooth([]) == []
