"""Attention maps: the weights of one attention with the tokens they belong to, to print and to save."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import UserError

SHADES = " ░▒▓█"


@dataclass(frozen=True)
class AttentionMap:
    """weights (H, T, S): row t is what the query t looked at; rows and columns name the tokens."""

    name: str
    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def heads(self) -> int:
        return self.weights.shape[0]

    def head(self, index: int) -> AttentionMap:
        """One head alone."""
        if not 0 <= index < self.heads:
            raise UserError(f"{self.name} has heads 0 to {self.heads - 1}, not {index}")
        return replace(self, name=f"{self.name}.{index}", weights=self.weights[index : index + 1])

    def mean(self) -> AttentionMap:
        """The average over heads."""
        return replace(self, weights=self.weights.mean(0, keepdim=True))

    def entropy(self) -> Tensor:
        """How widely each query of each head looks, in nats: (H, T)."""
        return -torch.special.xlogy(self.weights, self.weights).sum(-1)

    def text(self) -> str:
        """The mean over heads in block characters, one row a query."""
        weights = self.mean().weights[0]
        tokens = [_visible(token) for token in self.columns]
        width = max(len(_visible(row)) for row in self.rows)
        cells = [max(3, min(len(token), 12)) for token in tokens]
        header = " ".join(token[:size].ljust(size) for token, size in zip(tokens, cells, strict=True))
        lines = [f"{'':>{width}}  {header}"]
        for label, row in zip(self.rows, weights.tolist(), strict=True):
            marks = " ".join(SHADES[_shade(weight)] * size for weight, size in zip(row, cells, strict=True))
            lines.append(f"{_visible(label):>{width}}  {marks}".rstrip())
        return "\n".join(lines)

    def show(self) -> None:
        """Print the map."""
        print(self.text())

    def save(self, path: str | Path) -> Path:
        """Write the map as .svg, every head beside the others."""
        path = Path(path)
        if path.suffix != ".svg":
            raise UserError(f"{path}: maps are saved as .svg; name the file so")
        path.write_text(self.svg(), encoding="utf-8")
        return path

    def svg(self) -> str:
        """Small multiples, one panel a head; hovering a cell tells its weight."""
        cell, per_row = 22, min(self.heads, 4)
        left = 12 + 8 * max(len(_visible(row)) for row in self.rows)
        top = 24 + 6 * max(len(_visible(column)) for column in self.columns)
        panel_width = left + cell * len(self.columns) + 16
        panel_height = top + cell * len(self.rows) + 16
        panels = []
        for head in range(self.heads):
            x, y = (head % per_row) * panel_width, 26 + (head // per_row) * panel_height
            panels.append(f'<g transform="translate({x},{y})">{self._panel(head, cell, left, top)}</g>')
        height = 26 + math.ceil(self.heads / per_row) * panel_height
        title = f'<text x="10" y="18" font-weight="bold">{escape(self.name)}</text>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {per_row * panel_width} {height}" '
            f'width="{per_row * panel_width}" height="{height}" font-family="system-ui, sans-serif" font-size="13">'
            f'<rect width="100%" height="100%" fill="#fff"/>{title}{"".join(panels)}</svg>\n'
        )

    def _panel(self, head: int, cell: int, left: int, top: int) -> str:
        parts = []
        if self.heads > 1:
            parts.append(f'<text x="{left}" y="12" fill="#777">head {head}</text>')
        for j, column in enumerate(self.columns):
            x, y = left + j * cell + cell * 0.6, top - 6
            label = escape(_visible(column))
            parts.append(f'<text x="{x:.0f}" y="{y}" transform="rotate(-45 {x:.0f} {y})">{label}</text>')
        for i, row in enumerate(self.rows):
            y = top + i * cell
            label = escape(_visible(row))
            parts.append(f'<text x="{left - 6}" y="{y + cell * 0.68:.0f}" text-anchor="end">{label}</text>')
            for j, weight in enumerate(self.weights[head, i].tolist()):
                tip = f"{_visible(row)} → {_visible(self.columns[j])}: {weight:.3f}"
                parts.append(
                    f'<rect x="{left + j * cell}" y="{y}" width="{cell - 1}" height="{cell - 1}" '
                    f'fill="{_colour(weight)}"><title>{escape(tip)}</title></rect>'
                )
        return "".join(parts)


def _visible(token: str) -> str:
    """A token with its white space made visible where it has nothing else."""
    text = token.replace("\n", "⏎").replace("\t", "⇥")
    return text.strip() or text.replace(" ", "␣") or "∅"


def _shade(weight: float) -> int:
    return min(len(SHADES) - 1, round(weight * len(SHADES)))


def _colour(weight: float) -> str:
    """White to deep blue."""
    low, high = (246, 248, 252), (11, 61, 145)
    mixed = (round(a + (b - a) * min(1.0, weight)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
