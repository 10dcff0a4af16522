"""Heat maps: one panel a head, the columns' labels slanted above each panel, the rows' labels left of the first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.plotting.sheet import group, rect, shade, sheet, shorten, text, text_width, title_width, widest

MARGIN, LABEL = 12, 16  # pixels; the longest label in units of its font size


@dataclass(frozen=True)
class HeatMap:
    """weights (H, T, S) between 0 and 1, with the labels of the T rows and the S columns."""

    name: str
    weights: list[list[list[float]]]
    rows: Sequence[str]
    columns: Sequence[str]


@dataclass(frozen=True)
class Layout:
    cell: int
    font: int
    gap: int
    per_row: int
    faint: float  # cells below it are left out: a large model has a hundred thousand


LARGE = Layout(cell=22, font=13, gap=34, per_row=4, faint=0.0)
SMALL = Layout(cell=13, font=9, gap=20, per_row=1000, faint=0.02)


def heat_map(shown: HeatMap) -> str:
    """One map in large cells, four heads in a row. Pointing at a cell shows its weight."""
    return _draw(shown.name, [shown], LARGE)


def heat_maps(title: str, maps: Sequence[HeatMap]) -> str:
    """All heads of several maps in small cells: a row for each map, under its name."""
    return _draw(title, maps, SMALL)


def _draw(title: str, maps: Sequence[HeatMap], layout: Layout) -> str:
    longest = LABEL * layout.font
    left = MARGIN + 8 + min(longest, max(widest(shown.rows, layout.font) for shown in maps))
    parts = [text(MARGIN, 22, title, "title")]
    y, right = 34.0, MARGIN + title_width(title)
    for shown in maps:
        if layout is SMALL:
            parts.append(text(MARGIN, y + 14, shown.name, "heading"))
            y += 18
        above = 10 + 0.72 * min(longest, widest(shown.columns, layout.font))
        across, down = layout.cell * len(shown.columns), layout.cell * len(shown.rows)
        below = layout.font + 9 if len(shown.weights) > 1 else 4
        heads = len(shown.weights)
        for head in range(heads):
            row, column = divmod(head, layout.per_row)
            at = left + column * (across + layout.gap), y + above + row * (above + down + below)
            parts.append(group(_panel(shown, head, layout), at))
            if not column:
                parts += _row_labels(shown, left - 6, at[1], layout)
        overhang = 0.72 * min(longest, text_width(shown.columns[-1], layout.font))
        right = max(right, left + min(heads, layout.per_row) * (across + layout.gap) - layout.gap + overhang)
        y += math.ceil(heads / layout.per_row) * (above + down + below) + 8
    return sheet(title, math.ceil(right + MARGIN), math.ceil(y + 4), parts)


def _row_labels(shown: HeatMap, x: float, top: float, layout: Layout) -> Iterator[str]:
    for i, label in enumerate(shown.rows):
        baseline = top + (i + 0.5) * layout.cell + 0.36 * layout.font
        yield text(x, baseline, shorten(label, LABEL * layout.font, layout.font), anchor="end", size=layout.font)


def _panel(shown: HeatMap, head: int, layout: Layout) -> Iterator[str]:
    """The cells and the columns' labels of one head; the corner of the first cell is at 0, 0."""
    cell, font = layout.cell, layout.font
    several = len(shown.weights) > 1
    across, down = cell * len(shown.columns), cell * len(shown.rows)
    yield rect(0, 0, across, down, shade(0.0))
    if several:
        yield text(0, down + font + 4, f"head {head}", "soft", size=font)
    for j, label in enumerate(shown.columns):
        yield text((j + 0.62) * cell, -4, shorten(label, LABEL * font, font), size=font, slant=True)
    for i, (row, weights) in enumerate(zip(shown.rows, shown.weights[head], strict=True)):
        for j, (column, weight) in enumerate(zip(shown.columns, weights, strict=True)):
            if weight >= layout.faint:
                hover = f"{row} → {column}: {weight:.3f}" + (f" (head {head})" if several else "")
                yield rect(j * cell, i * cell, cell - 1, cell - 1, shade(weight), hover=hover)
