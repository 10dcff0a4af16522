"""Bars as plain SVG: one a row, with the spread over seeds drawn as a whisker."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeGuard
from xml.sax.saxutils import escape

from regard.plotting.chart import COLOURS, LEFT, RIGHT, WIDTH, svg
from regard.plotting.scale import Axis, Scale

ROW, TOP, BOTTOM = 26, 40, 40


@dataclass(frozen=True)
class Bar:
    """`value` with the range of its seeds, where there are several; `text` instead of the plain number."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    text: str | None = None
    colour: str = COLOURS[0]


def bars(title: str, entries: list[Bar], axis: Axis | None = None) -> str:
    """Names at the left, bars from 0 (or the axis' lower limit), the value behind each."""
    axis = axis or Axis(low=0.0)
    left = LEFT + min(320, 7 * max((len(one.name) for one in entries), default=0)) - 40
    bottom = TOP + ROW * len(entries)
    values = [value for one in entries for value in (one.value, one.low, one.high) if _finite(value)]
    across = Scale.over(axis, values, left, WIDTH - RIGHT - 70, tight=not axis.log)
    parts = []
    for value in across.ticks(5):
        x = f"{across(value):.1f}"
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{value:,.4g}</text>')
    if axis.label:
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{bottom + 32}" text-anchor="end">{escape(axis.label)}</text>')
    for row, one in enumerate(entries):
        parts.append(_bar(one, TOP + ROW * row, left, across))
    return svg(title, bottom + BOTTOM, "\n".join(parts))


def _finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _bar(one: Bar, top: float, left: float, across: Scale) -> str:
    middle, end = top + ROW / 2, across(one.value) if _finite(one.value) else left
    width = max(end - left, 0)
    parts = [
        f'<text x="{left - 8:.1f}" y="{middle + 4}" text-anchor="end">{escape(one.name)}</text>',
        f'<rect x="{left:.1f}" y="{top + 4}" width="{width:.1f}" height="{ROW - 8}" rx="2" fill="{one.colour}" '
        'fill-opacity=".8"/>',
    ]
    furthest = end
    if _finite(one.low) and _finite(one.high):
        low, high = across(one.low), across(one.high)
        parts.append(f'<line class="axis" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
        furthest = max(end, high)
    text = f"{one.value:.4g}" if one.text is None else one.text
    parts.append(f'<text x="{furthest + 6:.1f}" y="{middle + 4}">{escape(text)}</text>')
    return "\n".join(parts)
