"""Curves as plain SVG that suits light and dark pages: those of one run (curve.svg), or any lines on shared axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 760, 64, 24
PANEL, GAP, TOP, BOTTOM = 210, 64, 60, 44

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
    kind: str  # a class of the style: train, dev or metric
    points: Points
    dots: bool = False
    colour: str | None = None  # instead of the class's


@dataclass(frozen=True)
class Panel:
    """One diagram: its lines share both axes."""

    title: str
    lines: list[Line]
    best: tuple[float, float] | None = None  # the step of the best weights, and their value

    @property
    def best_text(self) -> str:
        return "" if self.best is None else f"best {self.best[1]:.4g} at step {self.best[0]:,}"


def curve_svg(metrics: list[dict[str, Any]], metric: str, title: str) -> str:
    """The lines of metrics.jsonl as a picture; `metric` is the one that decides, with a panel of its own."""
    looks = [line for line in metrics if "dev" in line]
    best = next((line for line in reversed(looks) if line["improved"]), None)
    losses = [
        Line("training loss", "train", smooth([(line["step"], line["loss"]) for line in metrics])),
        Line("development loss", "dev", [(line["step"], line["dev"]["loss"]) for line in looks], dots=True),
    ]
    panels = [Panel("nats per token, by step", losses, _mark(best, "loss") if metric == "loss" else None)]
    if metric != "loss":
        points = [(line["step"], line["dev"][metric]) for line in looks]
        name = f"{metric} in %" if metric in ("exact", "accuracy") else metric
        panels.append(
            Panel(f"development {name}, by step", [Line(name, "metric", points, dots=True)], _mark(best, metric))
        )
    return picture(title, panels)


def picture(title: str, panels: list[Panel]) -> str:
    """Panels below one another over the same steps."""
    last = max((math.ceil(step) for panel in panels for line in panel.lines for step, _ in line.points), default=1)
    height = TOP + len(panels) * PANEL + (len(panels) - 1) * GAP + BOTTOM
    body = [_panel(panel, TOP + i * (PANEL + GAP), last) for i, panel in enumerate(panels)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n<style>{STYLE}</style>\n'
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>\n' + "\n".join(body) + "\n</svg>\n"
    )


def smooth(points: Points, bins: int = 150) -> Points:
    """Means over at most `bins` stretches of equal length, so that single batches do not blacken the picture."""
    size = math.ceil(len(points) / bins)
    groups = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values (1, 2, 2.5 or 5 times a power of ten) within [low, high], about `count` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _mark(best: dict[str, Any] | None, metric: str) -> tuple[float, float] | None:
    return None if best is None else (best["step"], best["dev"][metric])


def _panel(panel: Panel, top: float, last: int) -> str:
    values = [y for line in panel.lines for _, y in line.points if math.isfinite(y)] or [0.0]
    low, high = _bounds(min(values), max(values))
    bottom = top + PANEL

    def x(step: float) -> float:
        return LEFT + step / max(last, 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * PANEL

    parts = []
    for value in ticks(low, high):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    for step in ticks(0, last, 6):
        parts.append(f'<line class="axis" x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text x="{x(step):.1f}" y="{bottom + 18}" text-anchor="middle">{step:,.4g}</text>')
    parts += [_line(line, x, y) for line in panel.lines]
    if panel.best is not None:
        kind = "dev" if panel.lines[-1].kind == "dev" else "metric"
        parts.append(f'<circle class="best {kind}" cx="{x(panel.best[0]):.1f}" cy="{y(panel.best[1]):.1f}" r="7"/>')
    parts.append(_legend(panel, top - 12))
    return "\n".join(parts)


def _bounds(low: float, high: float) -> tuple[float, float]:
    """A little air around the values; from 0 where they come near it."""
    room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.1)
    return (0.0 if 0 <= low < 0.5 * high else low - room), high + room


def _line(line: Line, x: Any, y: Any) -> str:
    places = [f"{x(step):.1f},{y(value):.1f}" for step, value in line.points if math.isfinite(value)]
    own = "" if line.colour is None else f' style="stroke:{line.colour}"'
    drawn = f'<polyline class="line {line.kind}"{own} points="{" ".join(places)}">'
    drawn += f"<title>{escape(line.name)}</title></polyline>"
    if line.dots and len(places) <= 60:
        dots = (place.split(",") for place in places)
        fill = "" if line.colour is None else f' style="fill:{line.colour}"'
        drawn += "".join(f'<circle class="{line.kind}-key"{fill} cx="{cx}" cy="{cy}" r="3"/>' for cx, cy in dots)
    return drawn


def _legend(panel: Panel, y: float) -> str:
    """Title of the panel at the left, its lines by colour in places of fixed width, the best at the right."""
    parts = [f'<text x="{LEFT}" y="{y}">{escape(panel.title)}</text>']
    for i, line in enumerate(panel.lines if 1 < len(panel.lines) < 4 else []):
        x = LEFT + 190 + 130 * i
        parts.append(f'<circle class="{line.kind}-key" cx="{x}" cy="{y - 4}" r="4"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{escape(line.name)}</text>')
    if panel.best_text:
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{escape(panel.best_text)}</text>')
    return "\n".join(parts)
