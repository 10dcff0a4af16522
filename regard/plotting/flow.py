"""A flow: boxes in a row, joined by arrows, for what data passes through on its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.plotting.sheet import element, line, rect, sheet, text, text_width

WIDTH, HEIGHT, GAP, TOP, PADDING, ROW, HEAD = 760, 66, 22, 8, 6, 18, 5
FONT = 14


def flow(title: str, boxes: Sequence[str]) -> str:
    """Boxes of equal width; their text is broken at spaces."""
    width = (WIDTH - GAP * (len(boxes) - 1)) / len(boxes)
    lines = [_wrapped(box, width - 2 * PADDING) for box in boxes]
    height = max(HEIGHT, ROW * max(map(len, lines)) + 2 * PADDING)
    parts: list[str] = []
    for index, words in enumerate(lines):
        left = index * (width + GAP)
        parts += _box(left, width, height, words)
        if index:
            parts += _arrow(left - GAP, left, TOP + height / 2)
    return sheet(title, WIDTH, height + 2 * TOP, parts, adaptive=True)


def _box(left: float, width: float, height: float, words: Sequence[str]) -> Iterator[str]:
    yield rect(left, TOP, width, height, fill="none", kind="edge", radius=6)
    top = TOP + height / 2 - ROW * (len(words) - 1) / 2 + 5
    for row, content in enumerate(words):
        yield text(left + width / 2, top + ROW * row, content, anchor="middle", size=FONT)


def _arrow(start: float, end: float, y: float) -> Iterator[str]:
    yield line((start + 2, y), (end - 2, y), "axis")
    tip = f"{end - 2:.1f},{y:.1f} {end - 2 - 2 * HEAD:.1f},{y - HEAD:.1f} {end - 2 - 2 * HEAD:.1f},{y + HEAD:.1f}"
    yield element("polygon", {"points": tip, "fill": "#8c959f"})


def _wrapped(content: str, width: float) -> list[str]:
    """Lines that fit, unless a single word is wider."""
    lines: list[str] = []
    for word in content.split():
        if lines and text_width(f"{lines[-1]} {word}", FONT) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines
