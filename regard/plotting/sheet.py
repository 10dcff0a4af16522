"""The SVG sheet under every picture: shapes, escaped text, colours, and an estimate of how wide a text is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from html import escape as escape_markup

COLOURS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#cf222e", "#9a6700", "#0a7ea4", "#bf3989", "#57606a", "#116329")
LOW, HIGH = (246, 248, 252), (11, 61, 145)  # of a heat map: almost white to deep blue
SIZE, TITLE = 12, 14  # of the text, in pixels
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # even escaped they are no XML

# `adaptive` sheets are transparent and follow the page, light or dark; the others have a white ground.
STYLE = """
  .sheet { font: 12px system-ui, sans-serif }
  .sheet text { fill: #1c2430 } .sheet .soft { fill: #57606a }
  .sheet .title { font-size: 14px; font-weight: 600 } .sheet .heading { font-weight: 600 }
  .grid { stroke: #8c959f; stroke-opacity: .28 }
  .axis { stroke: #8c959f }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
  .train { stroke: #9aa4b0; stroke-width: 1.5 } .train-key { fill: #9aa4b0 }
  .dev { stroke: #0969da } .dev-key { fill: #0969da }
  .metric { stroke: #bc4c00 } .metric-key { fill: #bc4c00 }
  .ring { fill: none; stroke-width: 2 }
  .edge { fill: none; stroke: #98a2b3 } .box { fill: #f6f8fc; stroke: #98a2b3 }
  .best > .box { fill: #dbe7fb; stroke: #0b3d91; stroke-width: 2 } .best.edge { stroke: #0b3d91; stroke-width: 2.5 }
  .pruned { opacity: .35 }
  @media (prefers-color-scheme: dark) {
    .adaptive text { fill: #e6edf3 } .adaptive .soft { fill: #9da7b3 }
    .adaptive .train { stroke: #6e7781 } .adaptive .train-key { fill: #6e7781 }
    .adaptive .dev { stroke: #58a6ff } .adaptive .dev-key { fill: #58a6ff }
    .adaptive .metric { stroke: #f0883e } .adaptive .metric-key { fill: #f0883e }
  }
"""


def sheet(title: str, width: float, height: float, parts: Iterable[str], adaptive: bool = False) -> str:
    """The SVG of `parts`; `title` is for screen readers, what is drawn of it is among the parts."""
    size = {"viewBox": f"0 0 {_number(width)} {_number(height)}", "width": width, "height": height}
    kind = "sheet adaptive" if adaptive else "sheet"
    names = {"xmlns": "http://www.w3.org/2000/svg", "class": kind, "role": "img", "aria-label": title}
    ground = "" if adaptive else '<rect width="100%" height="100%" fill="#fff"/>\n'
    return element("svg", {**names, **size}, f"<style>{STYLE}</style>\n{ground}{''.join(parts)}\n") + "\n"


def element(name: str, attributes: dict[str, str | float | None], content: str = "") -> str:
    """One element; attributes that are None are left out, `content` is SVG."""
    rendered = "".join(f' {key}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    return f"<{name}{rendered}>{content}</{name}>" if content else f"<{name}{rendered}/>"


def escape(content: str) -> str:
    """As text or as the value of an attribute; what XML cannot hold becomes \ufffd."""
    return escape_markup(NOT_XML.sub("\ufffd", content))


def text(
    x: float,
    y: float,
    content: str,
    kind: str | None = None,
    anchor: str | None = None,
    size: float | None = None,
    slant: bool = False,
) -> str:
    """`anchor` is start, middle or end; `kind` is a class of the style; a slanted text rises to the right."""
    turn = f"rotate(-45 {_number(x)} {_number(y)})" if slant else None
    attributes = {"class": kind, "text-anchor": anchor, "font-size": size, "transform": turn}
    return element("text", {"x": x, "y": y, **attributes}, escape(content))


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str | None = None,
    kind: str | None = None,
    radius: float | None = None,
    opacity: float | None = None,
    hover: str = "",
) -> str:
    """`hover` is shown when the mouse points at it."""
    geometry = {"x": x, "y": y, "width": width, "height": height}
    appearance = {"fill": fill, "class": kind, "rx": radius, "opacity": None if opacity is None else f"{opacity:.2f}"}
    return element("rect", {**geometry, **appearance}, tooltip(hover))


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    return element("line", {"class": kind, "x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]})


def circle(x: float, y: float, radius: float, kind: str | None = None, fill: str | None = None) -> str:
    style = None if fill is None else f"fill:{fill}"
    return element("circle", {"class": kind, "style": style, "cx": x, "cy": y, "r": radius})


def group(parts: Iterable[str], at: tuple[float, float] | None = None, kind: str | None = None) -> str:
    """Parts that are moved together."""
    move = None if at is None else f"translate({_number(at[0])},{_number(at[1])})"
    return element("g", {"class": kind, "transform": move}, "".join(parts))


def tooltip(content: str) -> str:
    return f"<title>{escape(content)}</title>" if content else ""


def shade(weight: float) -> str:
    """The colour of a weight between 0 and 1 as #rrggbb."""
    mixed = (round(low + (high - low) * min(1.0, weight)) for low, high in zip(LOW, HIGH, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def text_width(content: str, size: float = SIZE) -> float:
    """In pixels, a little more than most sans-serif fonts need; Chinese, Japanese, Korean and emoji are wide."""
    return size * sum(map(_width, content))


def title_width(content: str) -> float:
    """Titles are bold, which is wider by up to a sixth."""
    return text_width(content, TITLE * 7 / 6)


def widest(contents: Iterable[str], size: float = SIZE) -> float:
    return max((text_width(content, size) for content in contents), default=0.0)


def shorten(content: str, width: float, size: float = SIZE) -> str:
    """The text itself where it fits, otherwise its beginning with an ellipsis."""
    if text_width(content, size) <= width:
        return content
    end = len(content)
    while end and text_width(content[:end] + "…", size) > width:
        end -= 1
    return content[:end].rstrip("\u200d ") + "…"  # no half of joined emoji


@lru_cache(4096)
def _width(character: str) -> float:
    """In units of the font size."""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):  # combining marks and joiners
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3 if category == "So" else 1.02
    if character in "ijltfrI|!.,:;'()[] /":
        return 0.4
    if character in "mwMWQ@%":
        return 0.95
    return 0.7 if character.isupper() else 0.62


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
