"""The micro-batcher: what waits together is decoded together, and nobody's mistake is another's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

import pytest
from event_loops import run_coroutine

from regard.config import SearchSettings
from regard.errors import UserError
from regard.pipeline import Result
from regard.server.batcher import MicroBatcher
from regard.threads import check_cancelled

GREEDY, BEAMS = SearchSettings(beams=1), SearchSettings(beams=4)


class Decoder:
    """Decodes by upper case, when it is allowed to; remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.go = threading.Event()
        self.begun = threading.Event()
        self.cancelled = 0

    def __call__(
        self, texts: Sequence[str], search: SearchSettings, prefixes: Sequence[Any], abandoned: threading.Event
    ) -> list[Result]:
        self.batches.append(tuple(texts))
        self.begun.set()
        while not self.go.wait(0.005):
            if abandoned.is_set():
                self.cancelled += 1
                raise CancelledError
        if "bad" in texts:
            raise UserError("bad is refused")
        return [Result(text.upper(), 0.0, (text,), 0.0) for text in texts]


def run(scenario: Callable[[MicroBatcher, Decoder], Any], tokens: int = 100, wait: float = 0.0) -> Decoder:
    decoder = Decoder()

    async def main() -> None:
        with ThreadPoolExecutor(1) as executor:
            try:
                await asyncio.wait_for(
                    scenario(MicroBatcher(decoder, executor, tokens, wait, lambda *_: None), decoder), 30
                )
            finally:
                decoder.go.set()

    run_coroutine(main())
    return decoder


def ask(batcher: MicroBatcher, *texts: str, search: SearchSettings = GREEDY) -> asyncio.Task[list[Result]]:
    return asyncio.create_task(batcher.translate(texts, [10] * len(texts), search))


async def busy(batcher: MicroBatcher, decoder: Decoder) -> asyncio.Task[list[Result]]:
    """The decoder works on one text; all others wait."""
    first = ask(batcher, "first")
    await asyncio.to_thread(decoder.begun.wait)
    return first


def test_what_waits_while_a_batch_is_decoded_is_the_next_batch() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        tasks = [await busy(batcher, decoder), *(ask(batcher, letter) for letter in "abc")]
        await asyncio.sleep(0.01)
        decoder.go.set()
        assert [result.text for task in tasks for result in await task] == ["FIRST", "A", "B", "C"]

    assert run(scenario).batches == [("first",), ("a", "b", "c")]


def test_the_token_budget_bounds_a_batch_and_order_is_kept() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        tasks = [await busy(batcher, decoder), *(ask(batcher, letter) for letter in "abcde")]
        await asyncio.sleep(0.01)
        decoder.go.set()
        await asyncio.gather(*tasks)

    assert run(scenario, tokens=20).batches == [("first",), ("a", "b"), ("c", "d"), ("e",)]


def test_texts_of_other_searches_wait_for_their_own_batch() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        tasks = [await busy(batcher, decoder)]
        tasks += [
            ask(batcher, "a"),
            ask(batcher, "b", search=BEAMS),
            ask(batcher, "c"),
            ask(batcher, "d", search=BEAMS),
        ]
        await asyncio.sleep(0.01)
        decoder.go.set()
        await asyncio.gather(*tasks)

    assert run(scenario).batches == [("first",), ("a", "c"), ("b", "d")]


def test_who_hangs_up_leaves_the_queue() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        first, gone, stays = await busy(batcher, decoder), ask(batcher, "gone", "gone, too"), ask(batcher, "stays")
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0.01)
        decoder.go.set()
        await asyncio.gather(first, stays)
        assert gone.cancelled()

    assert run(scenario).batches == [("first",), ("stays",)]


def test_a_batch_that_nobody_waits_for_is_given_up() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        first, stays = await busy(batcher, decoder), ask(batcher, "stays")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        while not decoder.cancelled:
            await asyncio.sleep(0.005)
        decoder.go.set()
        assert [result.text for result in await stays] == ["STAYS"]

    assert run(scenario).batches == [("first",), ("stays",)]


def test_a_mistake_is_answered_to_who_made_it() -> None:
    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        first, bad, good = await busy(batcher, decoder), ask(batcher, "bad"), ask(batcher, "good")
        await asyncio.sleep(0.01)
        decoder.go.set()
        await first
        with pytest.raises(UserError, match="bad is refused"):
            await bad
        assert (await good)[0].text == "GOOD"

    assert run(scenario).batches[1] == ("bad", "good")


def test_a_batch_waits_a_little_for_as_many_texts_as_the_last_had() -> None:
    """So that clients that were answered together are decoded together again, and a single one does not wait."""

    async def scenario(batcher: MicroBatcher, decoder: Decoder) -> None:
        decoder.go.set()
        await asyncio.gather(ask(batcher, "a"), ask(batcher, "b"))
        one = ask(batcher, "c")
        await asyncio.sleep(0.05)
        await asyncio.gather(one, ask(batcher, "d"))

    assert run(scenario, wait=20.0).batches == [("a", "b"), ("c", "d")]


def test_work_that_is_not_wanted_ends_where_it_asks() -> None:
    from regard.threads import ThreadPool, cancellable

    event = threading.Event()
    with cancellable(event):
        check_cancelled()
        event.set()
        with pytest.raises(CancelledError):
            check_cancelled()
        with pytest.raises(CancelledError), ThreadPool(2) as pool:
            pool.run([check_cancelled, check_cancelled])
    check_cancelled()
