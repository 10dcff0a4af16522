"""The picture is well-formed and says what the numbers say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from regard.training.curve import curve_svg, smooth, ticks

SVG = "{http://www.w3.org/2000/svg}"


def metrics(steps: int = 400, every: int = 100) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        line: dict[str, Any] = {"step": step, "loss": 100 / (step + 20)}
        if step % every == 0:
            line |= {"dev": {"loss": 100 / step, "exact": step / 8}, "improved": step <= 300}
        lines.append(line)
    return lines


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_two_panels_with_lines_dots_and_the_best() -> None:
    svg = curve_svg(metrics(), "exact", 'a "title" with <signs> & more')
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}polyline"))) == 3
    assert 'a "title" with <signs> & more' in texts(svg)
    assert "best 37.5 at step 300" in texts(svg)
    assert "prefers-color-scheme: dark" in svg
    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    for line in root.iter(f"{SVG}polyline"):
        for place in line.attrib["points"].split():
            x, y = map(float, place.split(","))
            assert 0 <= x <= width and 0 <= y <= height


def test_one_panel_for_the_loss() -> None:
    svg = curve_svg(metrics(), "loss", "t")
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}polyline"))) == 2
    assert "best 0.3333 at step 300" in texts(svg)


def test_little_to_draw_is_no_error() -> None:
    ElementTree.fromstring(curve_svg([], "loss", "nothing"))
    ElementTree.fromstring(curve_svg(metrics(1, 1), "exact", "one step"))
    ElementTree.fromstring(curve_svg(metrics(5, 100), "exact", "no look"))


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
