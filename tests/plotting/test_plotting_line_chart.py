"""Line charts say what the numbers say."""

from __future__ import annotations

import itertools

from regard.plotting import COLOURS, Axis, Line, Panel, line_chart
from regard.plotting.line_chart import smooth

SVG = "{http://www.w3.org/2000/svg}"


def test_logarithmic_axes_make_a_power_straight(inside) -> None:
    points = [(2.0**i, 3 * 4.0**i) for i in range(4, 13)]
    lines = [Line("a", points, COLOURS[0]), Line("b", [(16, 1), (4096, 2)], COLOURS[1], dashed=True)]
    panel = Panel("time", lines, x=Axis("length", log=True), y=Axis("seconds", log=True))
    root = inside(line_chart("growth", [panel]))
    drawn = next(iter(root.iter(f"{SVG}polyline"))).attrib["points"].split()
    places = [tuple(map(float, point.split(","))) for point in drawn]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(places)]
    assert max(slopes) - min(slopes) < 0.01
    assert {"length", "a", "b"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_many_lines_have_a_legend_in_rows(inside) -> None:
    lines = [Line(f"architecture number {i}", [(0, i), (1, i)], COLOURS[i]) for i in range(9)]
    lines.append(Line("architecture number 0", [(0, 3), (1, 4)], COLOURS[0]))  # another seed
    root = inside(line_chart("", [Panel("quality", lines), Panel("quality", lines[:1])]))
    names = [text.text for text in root.iter(f"{SVG}text") if (text.text or "").startswith("architecture")]
    assert len(names) == len(set(names)) == 9


def test_the_names_of_an_axis_are_all_there_and_on_the_sheet(inside) -> None:
    names = tuple(f"decoder.layers.{i}" for i in range(6))
    axis = Axis(low=-0.5, high=5.5, names=names)
    root = inside(line_chart("", [Panel("by layer", [Line("probe", [(i, i) for i in range(6)])], x=axis)]))
    assert [text.text for text in root.iter(f"{SVG}text") if text.get("transform")] == list(names)


def test_a_line_without_points_leaves_the_rest_drawn() -> None:
    lines = [Line("seen", [(0.0, 1.0), (1.0, 2.0)]), Line("unseen", []), Line("too", [(0.0, 0.0)], COLOURS[1])]
    assert "unseen</text>" not in (chart := line_chart("", [Panel("", lines)])) and "seen</text>" in chart


def test_smoothing_keeps_the_mean_and_bounds_the_points() -> None:
    points = [(float(i), float(i % 7)) for i in range(1000)]
    smoothed = smooth(points, 150)
    assert len(smoothed) <= 150
    assert smooth(points[:10]) == points[:10]
    assert smooth([]) == []
