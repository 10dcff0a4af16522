"""Lines on shared axes as plain SVG that suits light and dark pages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from regard.plotting.scale import Axis, Scale

WIDTH, LEFT, RIGHT = 760, 64, 24
PANEL, GAP, TOP, BOTTOM = 210, 64, 60, 44
LEGEND_ROW = 18

COLOURS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#cf222e", "#9a6700", "#0a7ea4", "#bf3989", "#57606a", "#116329")
STYLE = """
  svg { color-scheme: light dark }
  text { font: 12px system-ui, sans-serif; fill: #57606a }
  .title { font-size: 13px; font-weight: 600; fill: #24292f }
  .grid { stroke: #8c959f; stroke-opacity: .28 }
  .axis { stroke: #8c959f }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
  .train { stroke: #9aa4b0; stroke-width: 1.5 } .train-key { fill: #9aa4b0 }
  .dev { stroke: #0969da } .dev-key { fill: #0969da }
  .metric { stroke: #bc4c00 } .metric-key { fill: #bc4c00 }
  .best { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9da7b3 } .title { fill: #e6edf3 }
    .train { stroke: #6e7781 } .train-key { fill: #6e7781 }
    .dev { stroke: #58a6ff } .dev-key { fill: #58a6ff }
    .metric { stroke: #f0883e } .metric-key { fill: #f0883e }
  }
"""

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    name: str
    points: Points
    colour: str | None = None  # one of COLOURS, or None: that of its kind
    kind: str = "metric"  # a class of the style: train, dev or metric
    dots: bool = True
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One diagram: its lines share both axes."""

    title: str
    lines: list[Line]
    best: tuple[float, float] | None = None  # the step of the best weights, and their value
    x: Axis = field(default_factory=lambda: Axis(low=0.0))
    y: Axis = field(default_factory=Axis)

    @property
    def best_text(self) -> str:
        return "" if self.best is None else f"best {self.best[1]:.4g} at step {self.best[0]:,}"


def picture(title: str, panels: list[Panel]) -> str:
    """Panels below one another; without limits of their own they share the range of x."""
    every = [x for panel in panels for line in panel.lines for x, _ in line.points]
    tops = []
    height: float = 12 if not title else TOP - 26
    for panel in panels:
        height += 26 + _legend_height(panel)
        tops.append(height)
        height += PANEL + BOTTOM
    body = [_panel(panel, top, every) for panel, top in zip(panels, tops, strict=True)]
    return svg(title, height, "\n".join(body))


def svg(title: str, height: float, body: str) -> str:
    """The sheet that a chart stands on."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n<style>{STYLE}</style>\n'
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def smooth(points: Points, bins: int = 150) -> Points:
    """Means over at most `bins` stretches of equal length, so that single batches do not blacken the picture."""
    size = math.ceil(len(points) / bins)
    groups = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _panel(panel: Panel, top: float, every: list[float]) -> str:
    bottom = top + PANEL
    values = [y for line in panel.lines for _, y in line.points if math.isfinite(y)]
    across = Scale.over(panel.x, every, LEFT, WIDTH - RIGHT, tight=True)
    up = Scale.over(panel.y, values, bottom, top)
    parts = []
    for value in up.ticks(5):
        y = f"{up(value):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    for value in across.ticks(6):
        x = f"{across(value):.1f}"
        parts.append(f'<line class="axis" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{value:,.4g}</text>')
    if panel.x.label:
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{bottom + 34}" text-anchor="end">{escape(panel.x.label)}</text>')
    parts += [_line(line, across, up) for line in panel.lines]
    if panel.best is not None:
        kind = "dev" if panel.lines[-1].kind == "dev" else "metric"
        place = f'cx="{across(panel.best[0]):.1f}" cy="{up(panel.best[1]):.1f}"'
        parts.append(f'<circle class="best {kind}" {place} r="7"/>')
    return "\n".join([*parts, _legend(panel, top)])


def _line(line: Line, x: Scale, y: Scale) -> str:
    places = [f"{x(at):.1f},{y(value):.1f}" for at, value in line.points if math.isfinite(value)]
    own = "" if line.colour is None else f"stroke:{line.colour};"
    own += "stroke-dasharray:5 4;" if line.dashed else ""
    style = f' style="{own}"' if own else ""
    drawn = f'<polyline class="line {line.kind}"{style} points="{" ".join(places)}">'
    drawn += f"<title>{escape(line.name)}</title></polyline>"
    if line.dots and len(places) <= 60:
        dots = (place.split(",") for place in places)
        drawn += "".join(f'<circle {_key(line)} cx="{cx}" cy="{cy}" r="3"/>' for cx, cy in dots)
    return drawn


def _key(line: Line) -> str:
    return f'class="{line.kind}-key"' + ("" if line.colour is None else f' style="fill:{line.colour}"')


def _entries(panel: Panel) -> list[tuple[float, int, Line]]:
    """Where each line's name stands: x and row; lines of one name and colour have one entry."""
    unlike = {(line.name, line.colour or line.kind): line for line in panel.lines if line.points}
    if len(unlike) < 2:
        return []
    places, x, row = [], float(LEFT), 0
    for line in unlike.values():
        width = 26 + 6.6 * len(line.name)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, row = float(LEFT), row + 1
        places.append((x, row, line))
        x += width
    return places


def _legend_height(panel: Panel) -> int:
    entries = _entries(panel)
    return LEGEND_ROW * (entries[-1][1] + 1) if entries else 0


def _legend(panel: Panel, top: float) -> str:
    """The title of the panel with the best at the right; below it the lines by colour."""
    title_y = top - 12 - _legend_height(panel)
    parts = [f'<text x="{LEFT}" y="{title_y}">{escape(panel.title)}</text>']
    for x, row, line in _entries(panel):
        y = title_y + LEGEND_ROW * (row + 1)
        parts.append(f'<circle {_key(line)} cx="{x + 4:.1f}" cy="{y - 4}" r="4"/>')
        parts.append(f'<text x="{x + 13:.1f}" y="{y}">{escape(line.name)}</text>')
    if panel.best_text:
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{title_y}" text-anchor="end">{escape(panel.best_text)}</text>')
    return "\n".join(parts)
