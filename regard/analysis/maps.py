"""Attention maps: the weights of one attention with the tokens they belong to, to print and to save."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from regard.analysis.page import page
from regard.analysis.picture import map_png, map_svg
from regard.errors import UserError
from regard.files import write_bytes, write_text

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

    @property
    def row_labels(self) -> list[str]:
        return [visible(row) for row in self.rows]

    @property
    def column_labels(self) -> list[str]:
        return [visible(column) for column in self.columns]

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
        width = max(map(len, self.row_labels))
        cells = [max(3, min(len(label), 12)) for label in self.column_labels]
        header = " ".join(label[:size].ljust(size) for label, size in zip(self.column_labels, cells, strict=True))
        lines = [f"{'':>{width}}  {header}".rstrip()]
        for label, row in zip(self.row_labels, self.mean().weights[0].tolist(), strict=True):
            marks = " ".join(SHADES[_shade(weight)] * size for weight, size in zip(row, cells, strict=True))
            lines.append(f"{label:>{width}}  {marks}".rstrip())
        return "\n".join(lines)

    def show(self) -> None:
        """Print the map."""
        print(self.text())

    def save(self, path: str | Path) -> Path:
        """Write the map, every head apart, as .svg, .png (with the extra [plot]) or .html that works offline."""
        path = Path(path)
        match path.suffix:
            case ".svg":
                write_text(path, map_svg(self))
            case ".png":
                write_bytes(path, map_png(self))
            case ".html":
                write_text(path, page(self.name, [self]))
            case _:
                raise UserError(f"{path}: a map is saved as .svg, .png or .html; name the file so")
        return path


def visible(token: str) -> str:
    """A token with its white space made visible where it has nothing else."""
    text = token.replace("\n", "⏎").replace("\t", "⇥")
    return text.strip() or text.replace(" ", "␣") or "∅"


def _shade(weight: float) -> int:
    return min(len(SHADES) - 1, round(weight * len(SHADES)))
