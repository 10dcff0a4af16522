"""All heads of all attentions in one picture: a row an attention, a small panel a head."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from regard.analysis.picture import LOW, colour, colour_map, matplotlib_figure

if TYPE_CHECKING:
    from regard.analysis.maps import AttentionMap

CELL, GAP, LETTER = 11, 18, 5.2
FAINT = 0.02  # below it a cell is left as its ground: a large model has a hundred thousand cells


def overview_svg(title: str, maps: Sequence[AttentionMap]) -> str:
    """Panels of one attention share the labels at their left; pointing at a cell tells its weight."""
    left = 14 + round(LETTER * max(len(label) for one in maps for label in one.row_labels))
    parts, y, widest = [], 34, 20 + 8 * len(title)
    for one in maps:
        top = y + 24 + round(0.7 * LETTER * max(map(len, one.column_labels)))
        across, down = CELL * len(one.columns), CELL * len(one.rows)
        parts.append(f'<text x="10" y="{y + 10}" font-size="12" font-weight="bold">{escape(one.name)}</text>')
        for i, label in enumerate(one.row_labels):
            parts.append(f'<text x="{left - 4}" y="{top + i * CELL + 9}" text-anchor="end">{escape(label)}</text>')
        for head in range(one.heads):
            x = left + head * (across + GAP)
            parts.append(f'<g transform="translate({x},{top})">{_panel(one, head, across, down)}</g>')
        slant = round(0.7 * LETTER * len(one.column_labels[-1]))
        widest = max(widest, left + one.heads * (across + GAP) + slant)
        y = top + down + GAP + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest} {y}" width="{widest}" height="{y}" '
        f'font-family="system-ui, sans-serif" font-size="9"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _panel(one: AttentionMap, head: int, across: int, down: int) -> str:
    parts = [f'<rect width="{across}" height="{down}" fill="{colour(0)}"><title>head {head}</title></rect>']
    if one.heads > 1:
        parts.append(f'<text y="{down + 10}" fill="#777">head {head}</text>')
    for j, label in enumerate(one.column_labels):
        x = j * CELL + 7
        parts.append(f'<text x="{x}" y="-3" transform="rotate(-45 {x} -3)" fill="#555">{escape(label)}</text>')
    for i, row in enumerate(one.weights[head].tolist()):
        for j, weight in enumerate(row):
            if weight >= FAINT:
                told = f"{one.row_labels[i]} → {one.column_labels[j]}: {weight:.3f} (head {head})"
                parts.append(
                    f'<rect x="{j * CELL}" y="{i * CELL}" width="{CELL - 1}" height="{CELL - 1}" '
                    f'fill="{colour(weight)}"><title>{escape(told)}</title></rect>'
                )
    return "".join(parts)


def overview_png(title: str, maps: Sequence[AttentionMap]) -> bytes:
    """The same by matplotlib."""
    most = max(one.heads for one in maps)
    width = 0.14 * max(len(one.columns) for one in maps) + 0.5
    heights = [0.14 * len(one.rows) + 0.7 for one in maps]
    figure = matplotlib_figure((1 + most * width, 0.4 + sum(heights)))
    figure.suptitle(title, fontsize=9)
    axes = figure.subplots(len(maps), most, squeeze=False, height_ratios=heights)
    for one, row in zip(maps, axes, strict=True):
        for head, axis in enumerate(row):
            if head >= one.heads:
                axis.axis("off")
                continue
            axis.imshow(one.weights[head].numpy(), cmap=colour_map(), vmin=0, vmax=1, aspect="equal")
            axis.set_facecolor([value / 255 for value in LOW])
            axis.set_xticks(range(len(one.columns)), one.column_labels, rotation=90, fontsize=5)
            axis.xaxis.tick_top()
            axis.set_yticks(range(len(one.rows)), one.row_labels if head == 0 else [""] * len(one.rows), fontsize=5)
            axis.tick_params(length=0, pad=1)
            axis.spines[:].set_visible(False)
            axis.set_xlabel(one.name if head == 0 else f"head {head}", fontsize=5, loc="left")
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
