"""Bar charts: one bar a row, with the range over seeds as a whisker."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from regard.plotting.axes import Axis, Scale
from regard.plotting.line_chart import RIGHT, WIDTH
from regard.plotting.sheet import COLOURS, line, rect, sheet, shorten, text, title_width, widest

ROW, TOP, BOTTOM, MARGIN, LABEL = 26, 40, 40, 24, 330


@dataclass(frozen=True)
class Bar:
    """`value` with the range of its seeds, where there are several; `text` instead of the plain number."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    text: str | None = None
    colour: str = COLOURS[0]

    @property
    def value_text(self) -> str:
        return f"{self.value:.4g}" if self.text is None else self.text


def bar_chart(title: str, bars: list[Bar], axis: Axis | None = None) -> str:
    """Names at the left, bars from 0 (or the axis' lower limit), each followed by its value."""
    axis = axis or Axis(low=0.0)
    left = MARGIN + 8 + min(LABEL, widest(bar.name for bar in bars))
    room = 12 + widest(bar.value_text for bar in bars)
    bottom = TOP + ROW * len(bars)
    values = [value for bar in bars for value in (bar.value, bar.low, bar.high) if _finite(value)]
    scale = Scale.over(axis, values, left, WIDTH - RIGHT - min(room, 200), tight=not axis.log)
    parts = [text(MARGIN, 22, title, "title")]
    for value in scale.ticks(5):
        x = scale(value)
        parts.append(line((x, TOP), (x, bottom), "grid"))
        parts.append(text(x, bottom + 16, f"{value:,.4g}", "soft", "middle"))
    if axis.label:
        parts.append(text(WIDTH - RIGHT, bottom + 32, axis.label, "soft", "end"))
    for row, bar in enumerate(bars):
        parts += _bar(bar, TOP + ROW * row, left, scale)
    return sheet(title, max(WIDTH, 2 * MARGIN + title_width(title)), bottom + BOTTOM, parts, adaptive=True)


def _finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _bar(bar: Bar, top: float, left: float, scale: Scale) -> Iterator[str]:
    middle, end = top + ROW / 2, scale(bar.value) if _finite(bar.value) else left
    yield text(left - 8, middle + 4, shorten(bar.name, LABEL), "soft", "end")
    yield rect(left, top + 4, max(end - left, 0), ROW - 8, bar.colour, radius=2, opacity=0.8)
    if _finite(bar.low) and _finite(bar.high):
        low, high = scale(bar.low), scale(bar.high)
        yield line((low, middle), (high, middle), "axis")
        end = max(end, high)
    yield text(end + 6, middle + 4, bar.value_text, "soft")
