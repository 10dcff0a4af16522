"""The micro-batcher: texts that wait at the same time are decoded together.

A text that comes alone is decoded at once. While a batch is decoded others arrive, and they are the next batch. So that
clients that all got their answer together are together again, a batch waits a few milliseconds for as many texts as the
last one had; a single client never waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from regard.config import SearchSettings
from regard.pipeline import Result
from regard.pipeline.prefix import Prefix

MOST_TEXTS = 512  # of a batch, however short they are


@dataclass(frozen=True, eq=False)
class WaitingText:
    """One text, and the future in which its result will be."""

    text: str
    prefix: Prefix
    search: SearchSettings
    tokens: int
    result: asyncio.Future[Result] = field(repr=False)


DecodeBatch = Callable[[Sequence[str], SearchSettings, Sequence[Prefix], threading.Event], list[Result]]
"""Texts of one search, a prefix for each, and an event that says that nobody waits for them any more."""


class MicroBatcher:
    """One for each model. `decode` runs in the executor, with the texts of one search."""

    def __init__(
        self,
        decode: DecodeBatch,
        executor: Executor,
        batch_tokens: int,
        wait_seconds: float,
        observe: Callable[[int, int], None],
    ) -> None:
        self._decode, self._executor = decode, executor
        self._batch_tokens, self._wait_seconds, self._observe = batch_tokens, wait_seconds, observe
        self._waiting: deque[WaitingText] = deque()
        self._arrived = asyncio.Event()
        self._enough = asyncio.Event()
        self._last = 1  # texts of the last batch
        self._task: asyncio.Task[None] | None = None

    async def translate(
        self, texts: Sequence[str], tokens: Sequence[int], search: SearchSettings, prefix: Prefix = ""
    ) -> list[Result]:
        """One result a text. Who is cancelled leaves the queue."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="micro-batcher")
        loop = asyncio.get_running_loop()
        own = [
            WaitingText(text, prefix, search, count, loop.create_future())
            for text, count in zip(texts, tokens, strict=True)
        ]
        self._waiting.extend(own)
        self._arrived.set()
        if len(self._waiting) >= self._last:
            self._enough.set()
        try:
            return list(await asyncio.gather(*(waiting.result for waiting in own)))
        finally:
            for waiting in own:
                waiting.result.cancel()  # nothing where it has its result

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            await self._gather()
            batch = self._next_batch()
            if not batch:
                continue
            self._observe(len(batch), sum(waiting.tokens for waiting in batch))
            await self._answer(batch)

    async def _answer(self, batch: Sequence[WaitingText]) -> None:
        """Decode in the executor. An error is that of one text: the others are decoded without it."""
        loop = asyncio.get_running_loop()
        texts, prefixes = [waiting.text for waiting in batch], [waiting.prefix for waiting in batch]
        abandoned = threading.Event()
        for waiting in batch:
            waiting.result.add_done_callback(lambda _: abandoned.set() if _all_cancelled(batch) else None)
        work = partial(self._decode, texts, batch[0].search, prefixes, abandoned)
        try:
            results = await loop.run_in_executor(self._executor, _unless_cancelled, work)
        except Exception as error:
            if len(batch) > 1:
                for waiting in batch:
                    if not waiting.result.done():
                        await self._answer([waiting])
            elif not batch[0].result.done():
                batch[0].result.set_exception(error)
            return
        for waiting, result in zip(batch, results or (), strict=results is not None):
            if not waiting.result.done():
                waiting.result.set_result(result)

    async def _gather(self) -> None:
        """Wait a little for as many texts as there were last time."""
        if len(self._waiting) < self._last and self._wait_seconds:
            self._enough.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), self._wait_seconds)

    def _next_batch(self) -> list[WaitingText]:
        """The first text and those after it that have its search, as far as the token budget goes; one at least."""
        batch: list[WaitingText] = []
        others: deque[WaitingText] = deque()
        tokens = 0
        while self._waiting:
            waiting = self._waiting.popleft()
            if waiting.result.done():  # its client has hung up
                continue
            full = batch and (tokens + waiting.tokens > self._batch_tokens or len(batch) == MOST_TEXTS)
            if full:
                self._waiting.appendleft(waiting)
                break
            if batch and waiting.search != batch[0].search:
                others.append(waiting)
                continue
            batch.append(waiting)
            tokens += waiting.tokens
        self._waiting.extendleft(reversed(others))
        if not self._waiting:
            self._arrived.clear()
        self._last = max(1, len(batch))
        return batch

    @property
    def length(self) -> int:
        return len(self._waiting)


def _unless_cancelled(work: Callable[[], list[Result]]) -> list[Result] | None:
    """None where nobody waits any more. The exception must not leave the thread: asyncio would take it for a
    cancellation of the micro-batcher itself."""
    try:
        return work()
    except CancelledError:
        return None


def _all_cancelled(batch: Sequence[WaitingText]) -> bool:
    return all(waiting.result.cancelled() for waiting in batch)
