"""A trace: every attention and every hidden state of one teacher-forced pass, by the name of its tap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.analysis.maps import AttentionMap
from regard.analysis.page import page
from regard.data.pictures import Picture
from regard.decoding.decode import device_of, pad_sources
from regard.errors import UserError
from regard.files import write_text
from regard.models.seq2seq import Model
from regard.nn.taps import watching


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
        if name.startswith("encoder."):
            return self.source_tokens, self.source_tokens
        if keys == len(self.source_tokens) and "self_attention" not in name:
            return self.output_tokens, self.source_tokens
        everything = (self.source_tokens + self.input_tokens)[-keys:] if keys > len(self.input_tokens) else ()
        every = everything or self.input_tokens
        return every[-queries:], every


def _text(tokens: tuple[str, ...]) -> str:
    return "".join(token for token in tokens if token not in ("<s>", "</s>"))


def trace(
    model: Model,
    source: list[int] | Picture,
    target_in: list[int],
    source_tokens: tuple[str, ...],
    input_tokens: tuple[str, ...],
    output_tokens: tuple[str, ...],
) -> Trace:
    """One teacher-forced pass with all taps open; what search saw step by step is the same. Ids end with EOS."""
    whole = source if isinstance(source, Picture) else source[:-1]
    with torch.inference_mode(), watching(model) as watch:
        ids, mask = pad_sources([whole], device_of(model))
        model(ids, mask, torch.tensor([target_in]))
    return Trace(watch.tensors(), source_tokens, input_tokens, output_tokens)
