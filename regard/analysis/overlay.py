"""A picture once for each word of its caption, dark where the model did not look while it wrote the word."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

import numpy as np

from regard.analysis.maps import SHADES, AttentionMap, is_mark, visible, word_groups
from regard.data.images import png
from regard.errors import UserError
from regard.files import write_bytes, write_text

VEIL = 0.78  # how dark the least looked-at cell is
ACROSS = 6  # pictures in a row
PANEL, GAP, LINE = 160, 12, 24  # pixels


@dataclass(frozen=True)
class Overlay:
    """The words of a caption, and what each attention looked at to write them."""

    picture: np.ndarray  # (V, V, 3) bytes
    words: tuple[str, ...]
    names: tuple[str, ...]  # of the attentions
    weights: tuple[np.ndarray, ...]  # of each attention (H, words, side, side)
    first: int  # the attention to show

    @property
    def shown(self) -> np.ndarray:
        """The mean over the heads of the attention to show: (words, side, side)."""
        return self.weights[self.first].mean(0)

    def text(self) -> str:
        """In block characters, several words side by side; the darkest is what was looked at most."""
        blocks = [_block(word, weights) for word, weights in zip(self.words, self.shown, strict=True)]
        rows = [blocks[start : start + ACROSS] for start in range(0, len(blocks), ACROSS)]
        return "\n\n".join("\n".join("  ".join(line).rstrip() for line in zip(*row, strict=True)) for row in rows)

    def save(self, path: str | Path) -> Path:
        """As .svg or .png, the mean over heads; or every attention and head as .html that works offline."""
        path = Path(path)
        match path.suffix:
            case ".svg":
                write_text(path, overlay_svg(self))
            case ".png":
                write_bytes(path, overlay_png(self))
            case ".html":
                write_text(path, overlay_page(self))
            case _:
                raise UserError(f"{path}: a picture is saved as .svg, .png or .html; name the file so")
        return path


def overlay(picture: np.ndarray, maps: list[AttentionMap], first: str) -> Overlay:
    """Of all attentions that look at the picture; tokens are merged to words, whose looks are averaged."""
    rows = maps[0].rows
    groups = [group for group in word_groups(rows) if not any(is_mark(rows[place]) for place in group)]
    if not groups:
        raise UserError("the caption has no words to look at; give --target some")
    words = tuple("".join(rows[place] for place in group).strip() for group in groups)
    weights = []
    for one in maps:
        side = round(one.weights.shape[2] ** 0.5)
        merged = np.stack([one.weights[:, group].mean(1).numpy() for group in groups], axis=1)  # (H, words, P)
        weights.append(merged.reshape(one.heads, len(groups), side, side))
    names = tuple(one.name for one in maps)
    return Overlay(picture, words, names, tuple(weights), names.index(first))


def overlay_svg(one: Overlay) -> str:
    """The picture itself, then once a word; hovering a cell tells its weight."""
    parts, count = [], len(one.words) + 1
    side = one.shown.shape[-1]
    cell = PANEL / side
    for place in range(count):
        x, y = _corner(place)
        veil = []
        if place:
            weights = one.shown[place - 1]
            for row, column in np.ndindex(side, side):
                dark, weight = VEIL * (1 - weights[row, column] / weights.max()), weights[row, column]
                veil.append(
                    f'<rect x="{column * cell:g}" y="{row * cell:g}" width="{cell:g}" height="{cell:g}" '
                    f'opacity="{dark:.2f}"><title>{weight:.3f}</title></rect>'
                )
        label = visible(one.words[place - 1]) if place else "the picture"
        style = "" if place else ' font-style="italic" fill="#666"'
        parts.append(
            f'<g transform="translate({x},{y})"><use href="#picture"/>{"".join(veil)}'
            f'<text x="{PANEL / 2}" y="{PANEL + 17}" text-anchor="middle"{style}>{escape(label)}</text></g>'
        )
    width, height = _extent(count)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="15"><rect width="100%" height="100%" fill="#fff"/>'
        f'<defs><image id="picture" width="{PANEL}" height="{PANEL}" href="{_inline(one.picture)}"/></defs>'
        f"{''.join(parts)}</svg>\n"
    )


def overlay_png(one: Overlay) -> bytes:
    """The same in pixels, by Pillow."""
    from PIL import Image, ImageDraw, ImageFont

    count = len(one.words) + 1
    canvas = Image.new("RGB", _extent(count), "white")
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(15)
    plain = np.asarray(Image.fromarray(one.picture).resize((PANEL, PANEL), Image.Resampling.LANCZOS))
    for place in range(count):
        x, y = _corner(place)
        label, pixels = "the picture", plain
        if place:
            label, weights = visible(one.words[place - 1]), one.shown[place - 1]
            light = 1 - VEIL * (1 - weights / weights.max())
            rows = np.arange(PANEL) * len(light) // PANEL
            pixels = np.round(plain * light[rows][:, rows, None]).astype(np.uint8)
        canvas.paste(Image.fromarray(pixels), (x, y))
        pen.text((x + PANEL / 2, y + PANEL + 4), label, fill="black" if place else "#666", font=font, anchor="ma")
    return png(np.asarray(canvas))


def overlay_page(one: Overlay) -> str:
    """Self-contained HTML: choose the attention and the head, point at a word."""
    weights = [[[np.round(word, 4).tolist() for word in head] for head in each] for each in one.weights]
    data = {
        "picture": _inline(one.picture),
        "words": [visible(word) for word in one.words],
        "names": one.names,
        "weights": weights,
        "first": one.first,
        "veil": VEIL,
    }
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")  # a word may be </script>
    template = (resources.files("regard.analysis") / "overlay.html").read_text(encoding="utf-8")
    return template.replace("/*DATA*/", text)


def _block(word: str, weights: np.ndarray) -> list[str]:
    """A cell is two characters, its shade relative to the most looked-at one."""
    shades = np.minimum(weights / weights.max() * len(SHADES), len(SHADES) - 1).astype(int)
    lines = ["".join(SHADES[shade] * 2 for shade in row) for row in shades]
    width = 2 * weights.shape[1]
    return [*(f"{line}│" for line in lines), f"{visible(word)[:width]:^{width}} "]


def _corner(place: int) -> tuple[int, int]:
    row, column = divmod(place, ACROSS)
    return GAP + column * (PANEL + GAP), GAP + row * (PANEL + GAP + LINE)


def _extent(count: int) -> tuple[int, int]:
    columns, rows = min(count, ACROSS), -(-count // ACROSS)
    return GAP + columns * (PANEL + GAP), GAP + rows * (PANEL + GAP + LINE)


def _inline(picture: np.ndarray) -> str:
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()
