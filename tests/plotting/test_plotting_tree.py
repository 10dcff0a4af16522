"""Trees: a box for each node, joined to its parent."""

from __future__ import annotations

from xml.etree import ElementTree

from regard.plotting.tree import DOWN, HEIGHT, TOP, Box, draw_tree

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_are_joined_to_their_parents() -> None:
    levels = [[Box("<s>", kind="best")], [Box("a"), Box("b")], [Box("注意力机制翻译模型", "-1.0", parent=1)]]
    root = ElementTree.fromstring(draw_tree("t", levels))
    boxes = [group for group in root if group.tag == f"{SVG}g"]
    edges = [path.attrib["d"] for path in root if path.tag == f"{SVG}path"]
    assert [group.get("class") for group in boxes] == ["best", "kept", "kept", "kept"] and len(edges) == 3
    second = TOP + DOWN + HEIGHT // 2
    assert f" {second} C" in edges[2]  # from the second box of the level before
    assert boxes[3].find(f"{SVG}text").text.endswith("…")
