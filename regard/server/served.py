"""One served run: its name, its languages, the pipeline that answers now, and the micro-batcher before it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from regard.config import SearchSettings
from regard.config.settings import Engine
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
        self.loaded = 0.0
        self.load()
        wait = settings.wait_milliseconds / 1000
        self.batcher = MicroBatcher(self._decode, executor, settings.batch_tokens, wait, self._observe)

    def load(self) -> None:
        """The weights as they are on disk now. Where they cannot be read the pipeline stays what it is."""
        self.pipeline = load(self.path, self._threads, engine=self._engine)
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
        codec = self.pipeline.target_codec
        return isinstance(self.pipeline, Classifier) and all(map(language_code, codec.tokens(range(codec.size))))

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
