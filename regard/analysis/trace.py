"""A trace: every attention and every hidden state of one teacher-forced pass, by the name of its tap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.analysis.maps import AttentionMap
from regard.analysis.page import page
from regard.errors import UserError
from regard.files import write_text
from regard.models.seq2seq import Model
from regard.nn.taps import watching

TOGETHER = 4096  # tokens of one pass: its maps are all kept


@dataclass(frozen=True)
class Dictation:
    """What a model is given and what it is told to write: ids for the pass, tokens for the labels."""

    source: list[int]  # with EOS
    target_in: list[int]  # with BOS
    source_tokens: tuple[str, ...]
    input_tokens: tuple[str, ...]
    output_tokens: tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    """`tensors` of a single pair; tokens carry `<s>` and `</s>` where the model saw or wrote them."""

    tensors: dict[str, Tensor]
    source_tokens: tuple[str, ...]  # with the end of the sentence
    input_tokens: tuple[str, ...]  # what the decoder was given, with the start
    output_tokens: tuple[str, ...]  # what it wrote, with the end

    @property
    def attentions(self) -> list[str]:
        """Names of everything that attends, in the order of the computation."""
        return [name.removesuffix(".weights") for name in self.tensors if name.endswith(".weights")]

    def attention(self, name: str) -> AttentionMap:
        """The map of one attention: rows are queries, columns are keys."""
        if name not in self.attentions:
            raise UserError(f"no attention is called {name!r}; this model has: {', '.join(self.attentions) or 'none'}")
        weights = self.tensors[f"{name}.weights"][0]  # (H, T, S)
        rows, columns = self._labels(name, weights.shape[1], weights.shape[2])
        return AttentionMap(name, weights, rows, columns)

    @property
    def source_attentions(self) -> list[str]:
        """Those by which what is written looks at the source; in a language model all, since both stand in one row."""
        cross = [name for name in self.attentions if not _of_encoder(name) and "self_attention" not in name]
        alone = not cross and not any(_of_encoder(name) for name in self.tensors)
        return self.attentions if alone else cross

    def source_map(self, name: str) -> AttentionMap:
        """One of `source_attentions`, but only its part from the output (rows) to the source (columns)."""
        found = self.attention(name)
        weights = found.weights[:, -len(self.output_tokens) :, : len(self.source_tokens)]
        return AttentionMap(name, weights, self.output_tokens, self.source_tokens)

    def save(self, path: str | Path, first: str | None = None) -> Path:
        """All maps as one .html that works offline; `first` is shown when it opens."""
        path = Path(path)
        if path.suffix != ".html":
            raise UserError(f"{path}: a whole trace is saved as .html; save one attention as .svg or .png")
        names = self.attentions
        title = f"{_text(self.source_tokens)} → {_text(self.output_tokens)}"
        write_text(path, page(title, [self.attention(name) for name in names], names.index(first) if first else 0))
        return path

    def _labels(self, name: str, queries: int, keys: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if _of_encoder(name):
            return self.source_tokens, self.source_tokens
        if keys == len(self.source_tokens) and "self_attention" not in name:
            return self.output_tokens, self.source_tokens
        everything = (self.source_tokens + self.input_tokens)[-keys:] if keys > len(self.input_tokens) else ()
        every = everything or self.input_tokens
        return every[-queries:], every


def _of_encoder(name: str) -> bool:
    return name.startswith("encoder.")


def _text(tokens: tuple[str, ...]) -> str:
    return "".join(token for token in tokens if token not in ("<s>", "</s>"))


def trace(model: Model, dictation: Dictation) -> Trace:
    """One teacher-forced pass with all taps open; what search saw step by step is the same."""
    return traces(model, [dictation])[0]


def traces(model: Model, dictations: Sequence[Dictation], progress: Callable[[int], None] | None = None) -> list[Trace]:
    """A trace a dictation, in order. Those of equal lengths pass together: without padding every map is whole."""
    alike: dict[tuple[int, int], list[int]] = {}
    for row, dictation in enumerate(dictations):
        alike.setdefault((len(dictation.source), len(dictation.target_in)), []).append(row)
    found: dict[int, Trace] = {}
    for (source_length, target_length), rows in alike.items():
        size = max(1, TOGETHER // (source_length + target_length))
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            tensors = _pass(model, [dictations[row] for row in some])
            for place, row in enumerate(some):
                one = dictations[row]
                parts = {name: tensor[place : place + 1] for name, tensor in tensors.items()}
                found[row] = Trace(parts, one.source_tokens, one.input_tokens, one.output_tokens)
            if progress is not None:
                progress(len(some))
    return [found[row] for row in range(len(dictations))]


def _pass(model: Model, dictations: list[Dictation]) -> dict[str, Tensor]:
    with torch.inference_mode(), watching(model) as watch:
        ids = torch.tensor([one.source for one in dictations])
        model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([one.target_in for one in dictations]))
    return watch.tensors()
