"""Line charts: panels below one another, each with axes, a legend and the best point marked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.plotting.axes import Axis, Scale
from regard.plotting.sheet import circle, element, line, sheet, shorten, text, text_width, tooltip, widest

WIDTH, LEFT, RIGHT = 760, 64, 24
PANEL, TOP, BOTTOM, HEADING, LEGEND_ROW = 210, 34, 44, 26, 18
LEGEND = 14.5  # pixels of a letter of the legend, where a page shows it large
DOTS = 60  # lines of more points have no dots
LABEL = 130  # pixels of the longest name below an axis

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


def line_chart(title: str, panels: list[Panel]) -> str:
    """Panels without limits of their own share the range of x."""
    values = [x for panel in panels for line in panel.lines for x, _ in line.points]
    parts = [text(LEFT, 22, title, "title")] if title else []
    y: float = TOP if title else 12
    for panel in panels:
        y += HEADING + _legend_height(panel)
        parts += _panel(panel, y, values)
        y += PANEL + max(BOTTOM, 24 + 0.72 * min(LABEL, widest(panel.x.names)))
    return sheet(title, WIDTH, y, parts, adaptive=True)


def smooth(points: Points, bins: int = 150) -> Points:
    """Means over at most `bins` equal intervals, so that the noise of single batches does not hide the line."""
    size = math.ceil(len(points) / bins)
    groups = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _panel(panel: Panel, top: float, x_values: list[float]) -> Iterator[str]:
    bottom, right = top + PANEL, WIDTH - RIGHT
    y_values = [y for line in panel.lines for _, y in line.points if math.isfinite(y)]
    x_scale = Scale.over(panel.x, x_values, LEFT, right, tight=True)
    y_scale = Scale.over(panel.y, y_values, bottom, top)
    for value in y_scale.ticks(5):
        y = y_scale(value)
        yield line((LEFT, y), (right, y), "grid")
        yield text(LEFT - 8, y + 4, f"{value:.4g}", "soft", "end")
    yield line((LEFT, bottom), (right, bottom), "axis")
    for index, name in enumerate(panel.x.names):
        yield text(x_scale(index) + 5, bottom + 16, shorten(name, LABEL), "soft", "end", slant=True)
    for value in [] if panel.x.names else x_scale.ticks(6):
        x = x_scale(value)
        yield line((x, bottom), (x, bottom + 4), "axis")
        yield text(x, bottom + 18, f"{value:,.4g}", "soft", "middle")
    if panel.x.label:
        yield text(right, bottom + 34, panel.x.label, "soft", "end")
    for drawn in panel.lines:
        yield from _line(drawn, x_scale, y_scale)
    if panel.best is not None:
        kind = "dev" if panel.lines[-1].kind == "dev" else "metric"
        yield circle(x_scale(panel.best[0]), y_scale(panel.best[1]), 7, f"ring {kind}")
    yield from _legend(panel, top)


def _line(drawn: Line, x_scale: Scale, y_scale: Scale) -> Iterator[str]:
    points = [(x_scale(x), y_scale(y)) for x, y in drawn.points if math.isfinite(y)]
    style = "" if drawn.colour is None else f"stroke:{drawn.colour};"
    style += "stroke-dasharray:5 4;" if drawn.dashed else ""
    attributes = {"class": f"line {drawn.kind}", "style": style or None}
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield element("polyline", {**attributes, "points": path}, tooltip(drawn.name))
    if drawn.dots and len(points) <= DOTS:
        for x, y in points:
            yield circle(x, y, 3, f"{drawn.kind}-key", drawn.colour)


def _entries(panel: Panel) -> list[tuple[float, int, Line]]:
    """The x and the row of each line's name in the legend; lines of one name and colour have one entry."""
    distinct = {(line.name, line.colour or line.kind): line for line in panel.lines if line.points}
    if len(distinct) < 2:
        return []
    entries, x, row = [], float(LEFT), 0
    for entry in distinct.values():
        width = 30 + text_width(entry.name, LEGEND)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, row = float(LEFT), row + 1
        entries.append((x, row, entry))
        x += width
    return entries


def _legend_height(panel: Panel) -> int:
    entries = _entries(panel)
    return LEGEND_ROW * (entries[-1][1] + 1) if entries else 0


def _legend(panel: Panel, top: float) -> Iterator[str]:
    """The title of the panel with the best value at the right; below it the lines by colour."""
    title_y = top - 12 - _legend_height(panel)
    yield text(LEFT, title_y, panel.title, "soft")
    for x, row, entry in _entries(panel):
        y = title_y + LEGEND_ROW * (row + 1)
        yield circle(x + 4, y - 4, 4, f"{entry.kind}-key", entry.colour)
        yield text(x + 13, y, entry.name, "soft")
    if panel.best_text:
        yield text(WIDTH - RIGHT, title_y, panel.best_text, "soft", "end")
