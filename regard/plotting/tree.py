"""A tree of boxes, a column a level: the best way in blue, what was pruned pale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.plotting.sheet import element, group, rect, sheet, shorten, text, title_width, tooltip

WIDTH, HEIGHT = 112, 36  # of a box
ACROSS, DOWN = 148, 46  # from box to box
LEFT, TOP, NUMBER = 16, 64, 10  # the margins, and the font size of the numbers


@dataclass(frozen=True)
class Box:
    """One node: its label, a line of numbers below it, and its parent's row in the level before."""

    label: str
    numbers: str = ""
    hover: str = ""
    kind: Literal["best", "kept", "pruned"] = "kept"
    parent: int = 0


def draw_tree(title: str, levels: Sequence[Sequence[Box]]) -> str:
    """levels[0] holds the root; the boxes of a level stand below one another."""
    edges, boxes = [], []
    for level, nodes in enumerate(levels):
        x = LEFT + level * ACROSS
        if level:
            boxes.append(text(x, TOP - 10, f"step {level}", "soft", size=NUMBER))
        for row, node in enumerate(nodes):
            y = TOP + row * DOWN
            boxes.append(_box(node, x, y))
            if level:
                edges.append(_edge(x - ACROSS + WIDTH, TOP + node.parent * DOWN, x, y, node.kind))
    width = max(LEFT + len(levels) * ACROSS, 2 * LEFT + title_width(title))
    height = TOP + max(map(len, levels)) * DOWN + 10
    return sheet(title, width, height, [text(LEFT, 24, title, "title"), *edges, *boxes])


def _box(node: Box, x: float, y: float) -> str:
    parts = [
        tooltip(node.hover),
        rect(x, y, WIDTH, HEIGHT, kind="box", radius=5),
        text(x + 8, y + 15, shorten(node.label, WIDTH - 14)),
        text(x + 8, y + 29, node.numbers, "soft", size=NUMBER),
    ]
    return group(parts, kind=node.kind)


def _edge(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    y, to_y, middle = y + HEIGHT // 2, to_y + HEIGHT // 2, (x + to_x) / 2
    curve = f"M{x:g} {y:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return element("path", {"class": f"{kind} edge", "d": curve})
