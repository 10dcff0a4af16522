"""What every dialect asks: models by name and by language, and their answers within the limits.

Requests come in on the event loop. Everything that touches a model runs in one thread of its own, so that models do not
fight for the cores; loading new weights runs beside it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import torch

from regard.config import SearchSettings
from regard.config.values import Engine
from regard.data.embedded.scene import is_scene
from regard.errors import UserError
from regard.pipeline import Pipeline, Result
from regard.pipeline.prefix import Prefix, prefix_ids
from regard.pipeline.text_model import TextModel
from regard.server.languages import base_language, normalised
from regard.server.metrics import ServerMetrics
from regard.server.places import Places
from regard.server.refusal import Refusal, bad
from regard.server.served import RunToServe, ServedModel
from regard.server.settings import ServerSettings
from regard.threads import cancellable, serving_thread

Answer = TypeVar("Answer")
INLINE = 2000  # characters that are split into tokens on the event loop: a millisecond


class Service:
    """The served models, in the order they were named."""

    def __init__(
        self,
        runs: Sequence[RunToServe],
        settings: ServerSettings,
        threads: int | None = None,
        engine: Engine = "auto",
    ) -> None:
        if not runs:
            raise UserError("nothing to serve: name a run directory")
        names = [run.name for run in runs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise UserError(f"two runs are called {min(twice)}; a client chooses a model by its name, so rename one")
        self.settings, self.metrics = settings, ServerMetrics()
        self.places = Places(settings.queue_texts, settings.queue_seconds)
        self.metrics.places.set_function(lambda: self.places.taken)
        self._executor = serving_thread(threads or torch.get_num_threads())
        self._reloading = asyncio.Lock()
        self.models = {
            run.name: ServedModel(run, settings, self.metrics, self._executor, threads, engine) for run in runs
        }

    # --- choosing ------------------------------------------------------------------------------------------------

    def model(self, name: str | None = None) -> ServedModel:
        """By its name; without one the only one."""
        if name is None:
            if len(self.models) > 1:
                raise bad(f"several models are served; name one of {', '.join(self.models)}")
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Refusal(404, f"no model is called {name[:80]!r}; there are {', '.join(self.models)}")
        return self.models[name]

    @property
    def translators(self) -> list[ServedModel]:
        """Those whose languages are known."""
        return [model for model in self.models.values() if model.pair is not None]

    def pair_model(self, source: str, target: str) -> ServedModel | None:
        """Who translates this pair: the exact codes, else those without region (en-US is served by en)."""
        pairs = [(model, model.pair) for model in self.translators if model.pair]
        for key in (normalised, base_language):
            for model, pair in pairs:
                if key(pair.source) == key(source) and key(pair.target) == key(target):
                    return model
        return None

    @property
    def detector(self) -> ServedModel | None:
        return next((model for model in self.models.values() if model.detects_languages), None)

    # --- answering -----------------------------------------------------------------------------------------------

    async def translate(
        self, model: ServedModel, texts: Sequence[str], search: SearchSettings | None = None, prefix: Prefix = ""
    ) -> list[Result]:
        """One result a text, decoded together with those of other requests."""
        search = self.limited(search or model.pipeline.search)
        self.check_texts(texts)
        self._check_search(model.pipeline, search, prefix)
        tokens = await self._token_counts(model.pipeline, texts)
        async with self._within_limits(len(texts)):
            try:
                return await model.batcher.translate(texts, tokens, search, prefix)
            except UserError as error:
                raise bad(str(error)) from None

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Any other work with a model, in the thread of the models."""
        abandoned = threading.Event()

        def cancellable_work() -> Answer:
            with cancellable(abandoned):
                return work()

        loop = asyncio.get_running_loop()
        async with self._within_limits(1):
            try:
                return await loop.run_in_executor(self._executor, cancellable_work)
            except UserError as error:
                raise bad(str(error)) from None
            except CancelledError:
                raise asyncio.CancelledError from None
            finally:
                abandoned.set()

    async def stream(
        self, pipeline: Pipeline, text: str, search: SearchSettings, prefix: Prefix = ""
    ) -> AsyncGenerator[Result, None]:
        """The growing output after each token. Between two tokens other requests have their turn."""
        await self.check_texts_of(pipeline, [text])
        self._check_search(pipeline, search, prefix)
        if not isinstance(pipeline, TextModel):
            raise bad(f"only texts can be streamed; this run is for {pipeline.run.task}")
        loop = asyncio.get_running_loop()
        growth = pipeline.stream(text, self.limited(search), prefix)
        ends = loop.time() + self.settings.answer_seconds
        async with self.places.held(1):
            try:
                while (result := await loop.run_in_executor(self._executor, partial(next, growth, None))) is not None:
                    yield result
                    if loop.time() > ends:
                        raise self._late()
            except UserError as error:
                raise bad(str(error)) from None

    async def reload(self, names: Sequence[str] = ()) -> list[ServedModel]:
        """New weights from disk, while the old ones answer. A run that cannot be read keeps the old ones."""
        models = [self.model(name) for name in names] or list(self.models.values())
        async with self._reloading:
            for model in models:
                try:
                    await asyncio.to_thread(model.load)
                except UserError as error:
                    raise Refusal(409, f"{model.name} answers with its old weights: {error}") from None
        return models

    # --- limits --------------------------------------------------------------------------------------------------

    def check_texts(self, texts: Sequence[str]) -> None:
        """Refuse texts that are too many or too long, or that are no Unicode."""
        limits = self.settings
        if len(texts) > limits.texts:
            raise bad(f"Invalid request: request ({len(texts)}) exceeds text limit ({limits.texts})")
        for text in texts:
            if len(text) > limits.characters:
                raise bad(f"Invalid request: request ({len(text)}) exceeds text limit ({limits.characters})")
            check_unicode(text)

    def limited(self, search: SearchSettings) -> SearchSettings:
        """The search with outputs that are no longer than the limit."""
        most, limits = search.max_tokens, self.settings
        if max(search.beams, search.n_best) > limits.n_best:
            raise bad(f"at most {limits.n_best} beams and outputs are given, not {max(search.beams, search.n_best)}")
        if most is not None and most > limits.tokens:
            raise bad(f"max_tokens: at most {limits.tokens} tokens are given, not {most}")
        return search

    def _check_search(self, pipeline: Pipeline, search: SearchSettings, prefix: Prefix) -> None:
        """What would fail for a whole batch is refused before the text joins one."""
        try:
            if isinstance(pipeline, TextModel):
                pipeline.check_short_list(search)
            if len(prefix_ids(prefix, pipeline.target_codec)) > self.settings.tokens:
                raise bad(f"prefix: at most {self.settings.tokens} tokens")
        except UserError as error:
            raise bad(str(error)) from None

    async def check_texts_of(self, pipeline: Pipeline, texts: Sequence[str]) -> None:
        """Refuse texts that are too many, or too long for this model here."""
        self.check_texts(texts)
        await self._token_counts(pipeline, texts)

    async def check_traced(self, pipeline: Pipeline, text: str, target: str) -> None:
        """Refuse what would give maps of hundreds of megabytes, and files of the server's as pictures."""
        self.check_texts([text, target])
        most = self.settings.trace_tokens
        if pipeline.source_codec.kind == "images":
            if not is_scene(text):
                raise bad("this run reads pictures, not texts; send the picture to /v1/caption")
        elif len(await asyncio.to_thread(pipeline.source_codec.encode, text)) > most:
            raise bad(f"text: more than {most} tokens; a shorter one can be looked at")
        if target and len(await asyncio.to_thread(pipeline.target_codec.encode, target)) > 2 * most:
            raise bad(f"target: more than {2 * most} tokens; a shorter one can be looked at")

    async def _token_counts(self, pipeline: Pipeline, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; one that is too long is refused."""
        if pipeline.source_codec.kind == "images":
            raise bad("this run reads pictures, not texts; send the picture to /v1/caption")
        if sum(map(len, texts)) <= INLINE:
            sources = pipeline.source_codec.encode_batch(texts)
        else:
            sources = await asyncio.to_thread(pipeline.source_codec.encode_batch, texts)
        for source in sources:
            if len(source) > self.settings.tokens:
                raise bad(f"a line of {len(source)} tokens exceeds the limit of {self.settings.tokens}; split it")
        return [len(source) + 1 for source in sources]

    @asynccontextmanager
    async def _within_limits(self, texts: int) -> AsyncIterator[None]:
        """A place in the queue, and a time limit."""
        seconds = self.settings.answer_seconds
        async with self.places.held(texts):
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    yield
            except TimeoutError:
                if not limit.expired():
                    raise
                raise self._late() from None

    def _late(self) -> Refusal:
        return Refusal(504, f"there was no answer within {self.settings.answer_seconds:g} seconds; send less at once")

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def check_unicode(text: str) -> None:
    """JSON can spell halves of characters, which no text has."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise bad(f"Invalid request: the text is no Unicode at character {error.start}: a lone surrogate") from None
