"""What a captioner attended to in its image for each word of the caption."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.cells import cell_len, set_cell_size

from regard.analysis.maps import SHADES, AttentionMap, is_mark, visible, word_groups
from regard.analysis.view import TraceRecord
from regard.data.images import png
from regard.errors import UserError
from regard.plotting import save_picture
from regard.plotting.overlay import draw_overlay

ACROSS = 6  # words side by side in a terminal


@dataclass(frozen=True)
class Overlay:
    """The words of a caption with the weights of each attention over the image."""

    image: np.ndarray  # (V, V, 3) bytes
    words: tuple[str, ...]
    names: tuple[str, ...]  # of the attentions
    weights: tuple[np.ndarray, ...]  # of each attention (H, words, side, side)
    first: int  # the attention to show
    record: TraceRecord  # of the caption, for the page

    @property
    def shown(self) -> np.ndarray:
        """The mean over the heads of the attention to show: (words, side, side)."""
        return self.weights[self.first].mean(0)

    def text(self) -> str:
        """In block characters, several words side by side; dark cells have high weights."""
        blocks = [_block(word, weights) for word, weights in zip(self.words, self.shown, strict=True)]
        rows = [blocks[start : start + ACROSS] for start in range(0, len(blocks), ACROSS)]
        return "\n\n".join("\n".join("  ".join(line).rstrip() for line in zip(*row, strict=True)) for row in rows)

    def save(self, path: str | Path) -> Path:
        """As .svg or .png, the mean over heads; or every attention and head as .html that works offline."""
        if Path(path).suffix == ".html":
            return self.record.save(path)
        return save_picture(
            path, draw_overlay(data_uri(self.image), list(map(visible, self.words)), self.shown.tolist())
        )


def data_uri(image: np.ndarray) -> str:
    """An image (H, W, 3) as a data: address that pages and SVG show."""
    return "data:image/png;base64," + base64.b64encode(png(image)).decode()


def overlay(image: np.ndarray, maps: list[AttentionMap], first: str, record: TraceRecord) -> Overlay:
    """Of all attentions over the image. Tokens are merged to words, over whose weights the mean is taken."""
    rows = maps[0].rows
    groups = [group for group in word_groups(rows) if not any(is_mark(rows[index]) for index in group)]
    if not groups:
        raise UserError("the caption has no words to look at; give --target some")
    words = tuple("".join(rows[index] for index in group).strip() for group in groups)
    weights = []
    for attention in maps:
        side = round(attention.weights.shape[2] ** 0.5)
        merged = np.stack([attention.weights[:, group].mean(1).numpy() for group in groups], axis=1)  # (H, words, P)
        weights.append(merged.reshape(attention.heads, len(groups), side, side))
    names = tuple(attention.name for attention in maps)
    return Overlay(image, words, names, tuple(weights), names.index(first), record)


def _block(word: str, weights: np.ndarray) -> list[str]:
    """A cell is two characters, its shade relative to the greatest weight."""
    shades = np.minimum(weights / weights.max() * len(SHADES), len(SHADES) - 1).astype(int)
    lines = ["".join(SHADES[shade] * 2 for shade in row) for row in shades]
    width = 2 * weights.shape[1]
    label = visible(word)
    left = max(0, width - cell_len(label)) // 2
    return [*(f"{line}│" for line in lines), set_cell_size(" " * left + label, width) + " "]
