"""What every trained model offers, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self, overload

from regard.analysis.trace import Dictation, Trace, trace, traces
from regard.checkpoint import Run
from regard.config import SearchConfig, settle
from regard.data.batches import Batch, encode_pairs, make_batch, plan
from regard.data.corpus import Example
from regard.data.image_store import Picture, Pictures
from regard.data.tokenizer import EOS
from regard.errors import UserError
from regard.evaluation import Report, TeacherForced, teacher_forced
from regard.inference import too_long
from regard.inference.batching import Source
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.pipeline.result import Result

Progress = Callable[[int], None]


class Pipeline(ABC):
    """What every kind of model offers. `model` is what writes; what is looked into is the run's own."""

    def __init__(self, run: Run, model: Model | None = None) -> None:
        self.run = run
        self.model = model or run.model
        self.source_tokenizer = run.source_tokenizer

    @property
    def search(self) -> SearchConfig:
        """How the run's recipe searches."""
        return self.run.config.search

    @overload
    def translate(self, text: str, **search: Any) -> Result: ...
    @overload
    def translate(self, text: Sequence[str], **search: Any) -> list[Result]: ...
    def translate(self, text: str | Sequence[str], **search: Any) -> Result | list[Result]:
        """One result a text, in order. `search` sets fields of the recipe's search: beams=5, n_best=3, sample=True …"""
        config = self.search_with(**search)
        if isinstance(text, str):
            return self.translate_all([text], config)[0]
        return self.translate_all(list(text), config)

    def search_with(self, **fields: Any) -> SearchConfig:
        """The recipe's search with some fields set."""
        return settle({"search": {**self.search.model_dump(), **fields}}, where="search").search

    @abstractmethod
    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        """One result a text, in order; an empty text has an empty result."""

    @abstractmethod
    def dictation(self, text: str, target: str) -> Dictation:
        """`text` as the model reads it, and `target` as it is told to write it."""

    def look(self, text: str, target: str) -> Trace:
        """The trace of the model reading `text` and being told to write `target`."""
        return trace(self.run.model, self.dictation(text, target))

    def look_all(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Trace]:
        """The trace of each example, as `look` gives it, many in one pass."""
        return traces(self.run.model, [self.dictation(one.source, one.target) for one in examples], progress)

    @abstractmethod
    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        """How good the model is on these pairs."""

    def reading(self, given: Source) -> tuple[list[int] | Picture, tuple[str, ...]]:
        """All that the encoder reads, a text with its end, and a name for each of its positions."""
        if isinstance(given, Picture):
            assert isinstance(self.source_tokenizer, Pictures)
            return given, tuple(self.source_tokenizer.tokens(given))
        assert not isinstance(self.source_tokenizer, Pictures)
        ids = [*given, EOS]
        return ids, tuple(self.source_tokenizer.tokens(ids))

    def check_fits(self, source: Source, target: list[int]) -> None:
        """Refuse what is longer than the model's positions."""
        problem = too_long(self.model, source, target)
        if problem is not None:
            raise UserError(str(problem))

    def untrained(self, seed: int = 0) -> Self:
        """The same pipeline around the same architecture with random weights: what is there without learning."""
        run = self.run
        shared = run.source_tokenizer is run.target_tokenizer
        sizes = run.source_tokenizer.size, run.target_tokenizer.size
        return type(self)(replace(run, model=build_model(run.config.model, *sizes, shared, seed).eval()))

    def forced(self, examples: list[Example]) -> TeacherForced | None:
        """Loss and accuracy when every token is predicted from the true ones before it; None where one does not fit."""
        batches = self.batches(examples)
        return None if batches is None else teacher_forced(self.model, batches)

    def batches(self, examples: list[Example]) -> list[Batch] | None:
        """The examples as the model takes them; None where one does not fit."""
        sources = self.run.source_tokenizer.encode_batch([example.source for example in examples])
        if self.run.task == "classification":
            targets: list[list[int]] = [[] for _ in examples]
        else:
            targets = self.run.target_tokenizer.encode_batch([example.target for example in examples])
        if any(too_long(self.model, *ids) for ids in zip(sources, targets, strict=True)):
            return None
        pairs, _ = encode_pairs(examples, self.run.source_tokenizer, self.run.target_tokenizer)
        return [make_batch(pairs, rows) for rows in plan(pairs, self.search.batch_tokens, seed=0, epoch=0)]
