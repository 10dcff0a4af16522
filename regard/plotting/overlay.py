"""An image once for each word of its caption, dark where the weights are low."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.plotting.sheet import element, group, rect, sheet, shorten, text

VEIL = 0.78  # how dark the cell of the least weight is
ACROSS = 6  # panels in a row
PANEL, GAP, LINE, FONT = 160, 12, 24, 15  # pixels


def draw_overlay(image: str, words: Sequence[str], weights: Sequence[list[list[float]]]) -> str:
    """`image` is a square as a data: address; weights[i] (side, side) are those of words[i]. Cells show theirs."""
    shown = element("image", {"id": "image", "width": PANEL, "height": PANEL, "href": image})
    parts = [element("defs", {}, shown)]
    for index, word in enumerate(["the picture", *words]):
        row, column = divmod(index, ACROSS)
        at = GAP + column * (PANEL + GAP), GAP + row * (PANEL + GAP + LINE)
        veil = _veil(weights[index - 1]) if index else ()
        label = text(PANEL / 2, PANEL + 18, shorten(word, PANEL + GAP, FONT), None if index else "soft", "middle", FONT)
        parts.append(group([element("use", {"href": "#image"}), *veil, label], at))
    columns, rows = min(len(words) + 1, ACROSS), -(-(len(words) + 1) // ACROSS)
    size = GAP + columns * (PANEL + GAP), GAP + rows * (PANEL + GAP + LINE)
    return sheet("the picture, and what was attended to for each word", *size, parts)


def _veil(weights: list[list[float]]) -> Iterator[str]:
    cell, most = PANEL / len(weights), max(map(max, weights))
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            dark = VEIL * (1 - weight / most)
            yield rect(j * cell, i * cell, cell, cell, "#000", opacity=dark, hover=f"{weight:.3f}")
