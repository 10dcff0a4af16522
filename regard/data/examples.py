"""The records every corpus is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.config import TokenizerSettings

# continuation: every source is empty, the target is text to model
Task = Literal["translation", "continuation", "classification", "tagging", "captioning"]


@dataclass(frozen=True)
class Example:
    source: str
    target: str


@dataclass(frozen=True)
class Skipped:
    """An example that was left out: file:line (or index) and the reason, worded alike for alike cases."""

    where: str
    why: str


@dataclass(frozen=True)
class Corpus:
    """Examples in three splits, and what suits them. No source of train is in dev or test, unless notes say so."""

    name: str
    train: list[Example]
    dev: list[Example]
    test: list[Example]
    skipped: list[Skipped]
    notes: tuple[str, ...]
    task: Task
    tokenizer: TokenizerSettings
    model: str
    images: Path | None = None  # sources are images in this folder (or scenes); None: they are text
    languages: tuple[str, str] | None = None  # of sources and targets, as en or pt-BR, where they are known

    def splits(self) -> dict[str, list[Example]]:
        return {"train": self.train, "dev": self.dev, "test": self.test}
