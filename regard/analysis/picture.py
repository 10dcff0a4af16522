"""Attention maps as pictures: small multiples, one panel a head."""

from __future__ import annotations

import io
import math
from html import escape
from typing import TYPE_CHECKING, Any

from regard.errors import UserError

if TYPE_CHECKING:
    from regard.analysis.maps import AttentionMap

CELL, PER_ROW = 22, 4
LOW, HIGH = (246, 248, 252), (11, 61, 145)  # white to deep blue


def map_svg(one: AttentionMap) -> str:
    """Hovering a cell tells its weight."""
    left = 12 + 8 * max(map(len, one.row_labels))
    top = 24 + 6 * max(map(len, one.column_labels))
    width = left + CELL * len(one.columns) + 16
    height = top + CELL * len(one.rows) + 16
    across = min(one.heads, PER_ROW)
    panels = []
    for head in range(one.heads):
        x, y = (head % across) * width, 26 + (head // across) * height
        panels.append(f'<g transform="translate({x},{y})">{_panel(one, head, left, top)}</g>')
    whole_width = max(across * width, 20 + 8 * len(one.name))
    whole_height = 26 + math.ceil(one.heads / across) * height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width} {whole_height}" width="{whole_width}" '
        f'height="{whole_height}" font-family="system-ui, sans-serif" font-size="13">'
        f'<rect width="100%" height="100%" fill="#fff"/><text x="10" y="18" font-weight="bold">{escape(one.name)}'
        f"</text>{''.join(panels)}</svg>\n"
    )


def _panel(one: AttentionMap, head: int, left: int, top: int) -> str:
    parts = [f'<text x="{left}" y="12" fill="#777">head {head}</text>'] if one.heads > 1 else []
    columns = [escape(label) for label in one.column_labels]
    for j, label in enumerate(columns):
        x, y = left + j * CELL + 13, top - 6
        parts.append(f'<text x="{x}" y="{y}" transform="rotate(-45 {x} {y})">{label}</text>')
    for i, row in enumerate(one.row_labels):
        y, label = top + i * CELL, escape(row)
        parts.append(f'<text x="{left - 6}" y="{y + 15}" text-anchor="end">{label}</text>')
        for j, weight in enumerate(one.weights[head, i].tolist()):
            parts.append(
                f'<rect x="{left + j * CELL}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{colour(weight)}">'
                f"<title>{label} → {columns[j]}: {weight:.3f}</title></rect>"
            )
    return "".join(parts)


def map_png(one: AttentionMap) -> bytes:
    """The same by matplotlib, for where SVG cannot go."""
    across = min(one.heads, PER_ROW)
    down = math.ceil(one.heads / across)
    size = (1.2 + 0.32 * len(one.columns), 1.4 + 0.32 * len(one.rows))
    figure = matplotlib_figure((across * size[0], 0.4 + down * size[1]))
    figure.suptitle(one.name, fontsize=10, fontweight="bold")
    axes = figure.subplots(down, across, squeeze=False)
    for head, axis in enumerate(axes.flat):
        if head >= one.heads:
            axis.axis("off")
            continue
        axis.imshow(one.weights[head].numpy(), cmap=colour_map(), vmin=0, vmax=1, aspect="equal")
        axis.set_xticks(range(len(one.columns)), one.column_labels, rotation=45, ha="left", fontsize=8)
        axis.xaxis.tick_top()
        axis.set_yticks(range(len(one.rows)), one.row_labels, fontsize=8)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        if one.heads > 1:
            axis.set_xlabel(f"head {head}", fontsize=8, color="#777")
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def matplotlib_figure(size: tuple[float, float]) -> Any:
    """An empty figure of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a .png needs matplotlib: pip install 'regard[plot]', or save as .svg or .html") from None
    return Figure(figsize=size, dpi=144, layout="constrained")


def colour_map() -> Any:
    """From nothing to all of it, for matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", [[value / 255 for value in end] for end in (LOW, HIGH)])


def colour(weight: float) -> str:
    """The same as #rrggbb."""
    mixed = (round(low + (high - low) * min(1.0, weight)) for low, high in zip(LOW, HIGH, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
