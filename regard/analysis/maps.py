"""Attention maps: the weights of one attention with the tokens they belong to, to print and to save."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Literal

import torch
from rich.cells import cell_len, set_cell_size
from torch import Tensor

from regard.analysis.view import MapRecord, TokenSide, TraceRecord, rounded
from regard.data.vocabulary import SPECIALS
from regard.errors import UserError
from regard.plotting import HeatMap, heat_map, save_picture

SHADES = " ░▒▓█"


@dataclass(frozen=True)
class AttentionMap:
    """weights (H, T, S): row t is what query t attended to; rows and columns are the tokens."""

    name: str
    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sides: tuple[TokenSide, TokenSide] = ("output", "source")  # of the rows and of the columns
    kind: Literal["attention", "rollout", "field"] = "attention"

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
        """How widely each query of each head attends, in nats: (H, T)."""
        return -torch.special.xlogy(self.weights, self.weights).sum(-1)

    def words(self) -> AttentionMap:
        """Tokens merged to words: the sum over the tokens of a key, the mean over those of a query."""
        rows, columns = word_groups(self.rows), word_groups(self.columns)
        summed = torch.stack([self.weights[:, :, group].sum(-1) for group in columns], dim=-1)
        merged = torch.stack([summed[:, group].mean(1) for group in rows], dim=1)
        return replace(self, weights=merged, rows=_joined(self.rows, rows), columns=_joined(self.columns, columns))

    def text(self) -> str:
        """The mean over heads in block characters, one row for each query; Chinese and emoji are two columns wide."""
        width = max(map(cell_len, self.row_labels))
        cells = [max(3, min(cell_len(label), 12)) for label in self.column_labels]
        header = " ".join(set_cell_size(label, size) for label, size in zip(self.column_labels, cells, strict=True))
        lines = [f"{'':>{width}}  {header}".rstrip()]
        for label, row in zip(self.row_labels, self.mean().weights[0].tolist(), strict=True):
            marks = " ".join(SHADES[_shade(weight)] * size for weight, size in zip(row, cells, strict=True))
            lines.append(f"{' ' * (width - cell_len(label))}{label}  {marks}".rstrip())
        return "\n".join(lines)

    def show(self) -> None:
        """Print the map; in a notebook, draw it with every head apart."""
        notebook = sys.modules.get("IPython")
        shell = notebook.get_ipython() if notebook is not None else None
        if notebook is not None and hasattr(shell, "kernel"):
            import_module("IPython.display").display(self)
        else:
            print(self.text())

    def heat_map(self) -> HeatMap:
        """The map as it is drawn: labels with visible white space, weights to four digits."""
        return HeatMap(self.name, rounded(self.weights.numpy()), self.row_labels, self.column_labels)

    def record(self) -> MapRecord:
        """The map for a viewer."""
        return MapRecord(self.name, self.kind, *self.sides, self.rows, self.columns, rounded(self.weights.numpy()))

    def svg(self) -> str:
        """Every head in a panel of its own."""
        return heat_map(self.heat_map())

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the map, every head apart, as .svg, .png (with the extra [plot]) or .html that works offline."""
        if Path(path).suffix == ".html":
            alone = TraceRecord(self.name, self.columns, (), (), self.rows, (self.record(),), self.name)
            return alone.save(path)
        return save_picture(path, self.svg())


def is_mark(token: str) -> bool:
    """Whether this is the start, the end or padding rather than text."""
    return token in SPECIALS


def word_groups(tokens: tuple[str, ...]) -> list[list[int]]:
    """The indices of the tokens of each word. White space before or after a token separates words, a mark is alone."""
    groups: list[list[int]] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else " "
        separate = is_mark(token) or is_mark(before) or token[:1].isspace() or before[-1:].isspace()
        if groups and (not separate or not token.strip()):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _joined(tokens: tuple[str, ...], groups: list[list[int]]) -> tuple[str, ...]:
    return tuple("".join(tokens[index] for index in group).strip() for group in groups)


def visible(token: str) -> str:
    """A token with its white space made visible where it has nothing else."""
    text = token.replace("\n", "⏎").replace("\t", "⇥")
    return text.strip() or text.replace(" ", "␣") or "∅"


def _shade(weight: float) -> int:
    return min(len(SHADES) - 1, round(weight * len(SHADES)))
