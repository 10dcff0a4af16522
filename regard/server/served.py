"""One served run: its name, its languages, the pipeline that answers now, and the micro-batcher before it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from regard.analysis.ablation import attention_heads
from regard.config import SearchSettings
from regard.config.values import Engine
from regard.data.image_codec import ImageCodec
from regard.pipeline import Classifier, Pipeline, Result, load
from regard.pipeline.prefix import Prefix
from regard.server.batcher import MicroBatcher
from regard.server.languages import LanguageDirection, language_code
from regard.server.metrics import ServerMetrics
from regard.server.settings import ServerSettings
from regard.threads import cancellable


@dataclass(frozen=True)
class RunToServe:
    """A run directory, as the command line names it; `pair`: its languages, where they are given."""

    path: Path
    pair: LanguageDirection | None = None

    @property
    def name(self) -> str:
        return self.path.resolve().name


@dataclass(frozen=True)
class ModelFacts:
    """What does not change until new weights are loaded."""

    parameters: int
    attentions: dict[str, int]  # heads of each
    classes: list[str]
    words: list[str]  # that go with pictures

    @classmethod
    def of(cls, pipeline: Pipeline) -> ModelFacts:
        source, target = pipeline.source_codec, pipeline.target_codec
        model = pipeline.run.model
        return cls(
            sum(parameter.numel() for parameter in model.parameters()),
            attention_heads(model),
            target.tokens(range(target.size)) if isinstance(pipeline, Classifier) else [],
            list(source.words) if isinstance(source, ImageCodec) else [],
        )


class ServedModel:
    """The pipeline may be exchanged while requests are under way: a batch keeps the one that it began with."""

    def __init__(
        self,
        run: RunToServe,
        settings: ServerSettings,
        metrics: ServerMetrics,
        executor: Executor,
        threads: int | None,
        engine: Engine,
    ) -> None:
        self.name, self.path = run.name, run.path
        self._pair, self._threads, self._engine, self._metrics = run.pair, threads, engine, metrics
        self.pipeline: Pipeline
        self.facts: ModelFacts
        self.loaded = 0.0
        self.load()
        wait = settings.wait_milliseconds / 1000
        self.batcher = MicroBatcher(self._decode, executor, settings.batch_tokens, wait, self._observe)

    def load(self) -> None:
        """The weights as they are on disk now. Where they cannot be read the pipeline stays what it is."""
        pipeline = load(self.path, self._threads, engine=self._engine)
        self.facts, self.pipeline = ModelFacts.of(pipeline), pipeline
        self.loaded = time.time()
        self._metrics.loaded.labels(self.name).set(self.loaded)

    @property
    def pair(self) -> LanguageDirection | None:
        """The languages of a translator, where they are known."""
        data = self.pipeline.run.plan.data
        if self.task != "translation":
            return None
        if self._pair is not None:
            return self._pair
        known = data.source_language is not None and data.target_language is not None
        return LanguageDirection(data.source_language or "", data.target_language or "") if known else None

    @property
    def task(self) -> str:
        return self.pipeline.run.task

    @property
    def detects_languages(self) -> bool:
        """A classifier whose classes are codes or English names of languages."""
        return bool(self.facts.classes) and all(map(language_code, self.facts.classes))

    def _decode(
        self, texts: Sequence[str], search: SearchSettings, prefixes: Sequence[Prefix], abandoned: threading.Event
    ) -> list[Result]:
        with cancellable(abandoned):
            results = self.pipeline.translate_all(texts, search, prefixes=prefixes)
        self._metrics.output_tokens.labels(self.name).inc(sum(len(result.tokens) for result in results))
        return results

    def _observe(self, texts: int, tokens: int) -> None:
        self._metrics.batch_texts.labels(self.name).observe(texts)
        self._metrics.source_tokens.labels(self.name).inc(tokens)
