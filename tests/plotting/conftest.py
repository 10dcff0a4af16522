from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def inside() -> Callable[[str], ElementTree.Element]:
    """The picture is well-formed, and nothing is drawn off the sheet."""

    def check(svg: str) -> ElementTree.Element:
        root = ElementTree.fromstring(svg)
        width, height = (float(root.attrib[key]) for key in ("width", "height"))
        for line in root.iter(f"{SVG}polyline"):
            for point in line.attrib["points"].split():
                x, y = map(float, point.split(","))
                assert 0 <= x <= width and 0 <= y <= height
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.attrib["x"]) <= width and float(text.attrib["y"]) <= height
        return root

    return check
