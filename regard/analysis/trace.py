"""A trace: every attention and every hidden state of one teacher-forced forward pass, by the name of its tap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from regard.analysis.maps import AttentionMap, word_groups
from regard.analysis.predictions import predictions
from regard.analysis.receptive import receptive_fields
from regard.analysis.rollout import cross_rollout, self_rollout
from regard.analysis.view import Prediction, SourceWord, TokenSide, TraceRecord
from regard.data.sources import Source
from regard.errors import UserError
from regard.inference import ProgressCallback
from regard.inference.batching import device_of, pad_sources
from regard.models.classifier import ClassifierModel
from regard.models.seq2seq import Model
from regard.nn.taps import watching
from regard.plotting import heat_maps, save_picture

WEIGHTS, FIELD, ROLLOUT = ".weights", ".field", "rollout"
SELF = ("self_attention", "convolution")  # rows and columns are of one side
BATCH_TOKENS = 4096  # of one forward pass: all its maps are kept


@dataclass(frozen=True)
class ForcedPair:
    """A source and the target that is forced: ids for the model, tokens for the labels of a map."""

    source: Source  # ids without EOS, or an image
    target_in: list[int]  # with BOS
    source_tokens: tuple[str, ...]
    input_tokens: tuple[str, ...]
    output_tokens: tuple[str, ...]
    target_out: Sequence[int] = ()  # ids of the output tokens
    names: Callable[[Sequence[int]], list[str]] | None = None  # of the ids of any output tokens
    given: int = 0  # output tokens that were given: the text that a language model continues


@dataclass(frozen=True)
class Trace:
    """`tensors` of a single pair; tokens include `<s>` and `</s>` where they are inputs or outputs."""

    tensors: dict[str, Tensor]
    source_tokens: tuple[str, ...]  # with the end of the sentence
    input_tokens: tuple[str, ...]  # of the decoder, with the start of the sentence
    output_tokens: tuple[str, ...]  # with the end of the sentence
    predictions: tuple[Prediction, ...] = ()  # one for each output token, or none where only the maps were asked for
    given: int = 0  # output tokens that were given

    @property
    def attentions(self) -> list[str]:
        """Names of everything that attends, in the order of the computation."""
        return [name.removesuffix(WEIGHTS) for name in self.tensors if name.endswith(WEIGHTS)]

    @property
    def maps(self) -> list[str]:
        """Names of everything that has a map: attentions, rollouts over layers, receptive fields of convolutions."""
        fields = [name.removesuffix(FIELD) for name in self.tensors if name.endswith(FIELD)]
        return self.attentions + [f"{side}.{ROLLOUT}" for side in self._rollouts()] + fields

    def attention(self, name: str) -> AttentionMap:
        """The map of one of `maps`: rows are queries, columns are keys. A receptive field is 1 for keys within it."""
        if name not in self.maps:
            raise UserError(f"no attention is called {name!r}; this model has: {', '.join(self.maps) or 'none'}")
        if name.endswith(f".{ROLLOUT}"):
            return self.rollout(name.removesuffix(f".{ROLLOUT}"))
        field = f"{name}{FIELD}"
        kind = "field" if field in self.tensors else "attention"
        weights = self.tensors[field if kind == "field" else f"{name}{WEIGHTS}"][0]  # (H, T, S)
        return self._map(name, weights, self._sides(name, weights.shape[2]), kind)

    def rollout(self, side: str) -> AttentionMap:
        """How much of each source position reaches each position through all layers of `encoder` or `decoder`."""
        if side not in self._rollouts():
            why = "it multiplies self-attention from layer to layer"
            raise UserError(
                f"there is no rollout of {side!r}: {why}; this model has: {', '.join(self._rollouts()) or 'none'}"
            )
        own = self._layers(f"{side}.", "self_attention")
        cross = self._layers(f"{side}.", "cross_attention")
        if not cross:
            sides = self._sides(f"{side}.self_attention", own[0].shape[2])
            return self._map(f"{side}.{ROLLOUT}", self_rollout(own)[None], sides, "rollout")
        memory = self_rollout(self._layers("encoder.", "self_attention"))
        reached = cross_rollout(list(zip(own, cross, strict=True)), memory)
        return self._map(f"{side}.{ROLLOUT}", reached[None], ("output", "source"), "rollout")

    def _rollouts(self) -> list[str]:
        """The sides whose layers all have self-attention; a decoder with cross-attention needs such an encoder."""
        encoder, decoder = (bool(self._layers(f"{side}.", "self_attention")) for side in ("encoder", "decoder"))
        alone = not self._layers("decoder.", "cross_attention")
        return ["encoder"] * encoder + ["decoder"] * (decoder and (alone or encoder))

    def _layers(self, side: str, kind: str) -> list[Tensor]:
        """The weights (H, T, S) of one kind of attention, layer by layer."""
        end = f"{kind}{WEIGHTS}"
        return [weights[0] for name, weights in self.tensors.items() if name.startswith(side) and name.endswith(end)]

    @property
    def source_attentions(self) -> list[str]:
        """Those with which the output attends to the source."""
        return source_attentions(self.attentions, any(map(_of_encoder, self.tensors)))

    @property
    def default_attention(self) -> str:
        """The last attention to the source; of a model without one, the last attention."""
        if not self.attentions:
            raise UserError("this model has no attention to look at")
        return (self.source_attentions or self.attentions)[-1]

    def source_map(self, name: str) -> AttentionMap:
        """One of `source_attentions`, but only its part from the output (rows) to the source (columns)."""
        weights = self.attention(name).weights[:, -len(self.output_tokens) :, : len(self.source_tokens)]
        return AttentionMap(name, weights, self.output_tokens, self.source_tokens)

    def save(self, path: str | Path, first: str | None = None) -> Path:
        """All heads of all maps: as .svg or .png, or as .html that works offline; there `first` is shown large."""
        if not self.maps:
            raise UserError(f"{path}: this model has no attention to draw")
        if Path(path).suffix == ".html":
            return self.record(first).save(path)
        return save_picture(path, heat_maps(self.title, [self.attention(name).heat_map() for name in self.maps]))

    @property
    def title(self) -> str:
        return f"{_text(self.source_tokens)} → {_text(self.output_tokens)}"

    def record(self, first: str | None = None) -> TraceRecord:
        """All of it for a viewer, with the map `first` shown first (see `view.py`)."""
        source = tuple(
            SourceWord(_text(self.source_tokens[group[0] : group[-1] + 1]).strip(), tuple(group))
            for group in word_groups(self.source_tokens)
        )
        return TraceRecord(
            title=self.title,
            source_tokens=self.source_tokens,
            source_words=tuple(word for word in source if word.text),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            maps=tuple(self.attention(name).record() for name in self.maps),
            first=(first or self.default_attention) if self.maps else None,
            given=self.given,
            predictions=self.predictions,
            text=_text(self.output_tokens[self.given :]).strip(),
        )

    def _repr_html_(self) -> str:
        """In a notebook: the page with all maps, in a frame of its own."""
        return self.record()._repr_html_()

    def _map(
        self,
        name: str,
        weights: Tensor,
        sides: tuple[TokenSide, TokenSide],
        kind: Literal["attention", "rollout", "field"],
    ) -> AttentionMap:
        """Weights (H, T, S), whose rows and columns are the last tokens of their sides."""
        rows, columns = (self._tokens(side)[-size:] for side, size in zip(sides, weights.shape[1:], strict=True))
        return AttentionMap(name, weights, rows, columns, sides, kind)

    def _sides(self, name: str, keys: int) -> tuple[TokenSide, TokenSide]:
        if _of_encoder(name):
            return "source", "source"
        if keys == len(self.source_tokens) and not any(kind in name for kind in SELF):
            return "output", "source"
        return ("both", "both") if keys > len(self.input_tokens) else ("input", "input")

    def _tokens(self, side: TokenSide) -> tuple[str, ...]:
        match side:
            case "source":
                return self.source_tokens
            case "input":
                return self.input_tokens
            case "output":
                return self.output_tokens
            case "both":
                return self.source_tokens + self.input_tokens


def source_attentions(attentions: Iterable[str], encoder: bool) -> list[str]:
    """Those of the decoder that are no self-attention; without an encoder all: source and target are one sequence. The
    map of a pointer comes first: the last one is the default, and what is generated was copied from nowhere."""
    names = [name for name in attentions if not encoder or not (_of_encoder(name) or "self_attention" in name)]
    return sorted(names, key=lambda name: not name.startswith("pointer"))


def _of_encoder(name: str) -> bool:
    return name.startswith("encoder.")


def _text(tokens: tuple[str, ...]) -> str:
    return "".join(token for token in tokens if token not in ("<s>", "</s>"))


def trace(model: Model, pair: ForcedPair) -> Trace:
    """The trace of one teacher-forced forward pass; the weights are those of the search, step by step."""
    return traces(model, [pair], predicted=True)[0]


def traces(
    model: Model, pairs: Sequence[ForcedPair], progress: ProgressCallback | None = None, predicted: bool = False
) -> list[Trace]:
    """The trace of each pair, in order. Pairs of equal lengths are one batch: no map has padding. `predicted`: with
    what the model finds probable at each position, of pairs that name their ids."""
    same_lengths: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        same_lengths.setdefault((len(pair.source_tokens), len(pair.target_in)), []).append(row)
    traced: dict[int, Trace] = {}
    for (source_length, target_length), rows in same_lengths.items():
        size = max(1, BATCH_TOKENS // (source_length + target_length))
        for first in range(0, len(rows), size):
            batch = rows[first : first + size]
            tensors, logits = _forward(model, [pairs[row] for row in batch])
            for index, row in enumerate(batch):
                pair = pairs[row]
                own_tensors = {name: tensor[index : index + 1] for name, tensor in tensors.items()}
                found = _predictions(pair, logits[index], model) if predicted else ()
                tokens = pair.source_tokens, pair.input_tokens, pair.output_tokens
                traced[row] = Trace(own_tensors, *tokens, found, pair.given)
            if progress is not None:
                progress(len(batch))
    return [traced[row] for row in range(len(pairs))]


def _predictions(pair: ForcedPair, logits: Tensor, model: Model) -> tuple[Prediction, ...]:
    if pair.names is None:
        return ()
    return predictions(logits, pair.target_out, pair.names, text=not isinstance(model, ClassifierModel))


def _forward(model: Model, pairs: list[ForcedPair]) -> tuple[dict[str, Tensor], Tensor]:
    """The tensors of all taps by name, and the logits (B, T, V)."""
    with torch.inference_mode(), watching(model) as watch:
        ids, mask = pad_sources([pair.source for pair in pairs], device_of(model))
        target_in = torch.tensor([pair.target_in for pair in pairs])
        logits = model(ids, mask, target_in)
    fields = receptive_fields(model, len(pairs[0].source_tokens), target_in.shape[1])
    expanded = {f"{name}{FIELD}": field.expand(len(pairs), 1, *field.shape) for name, field in fields.items()}
    return watch.tensors() | expanded, logits
