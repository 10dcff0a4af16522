"""The picture is well-formed and says what the numbers say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from regard.training.curve import curve_svg

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
