"""Backpressure: in order of arrival, with a time limit, and nothing is lost."""

from __future__ import annotations

import asyncio

import pytest
from event_loops import run_coroutine

from regard.server.places import Places
from regard.server.refusal import Refusal


def test_who_comes_to_a_full_queue_waits_in_order() -> None:
    async def main() -> list[str]:
        places, entered = Places(3, 10.0), []

        async def visit(name: str, count: int, leave: asyncio.Event) -> None:
            async with places.held(count):
                entered.append(name)
                await leave.wait()

        first, later = asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(visit("first", 2, first)), asyncio.create_task(visit("large", 3, later))]
        await asyncio.sleep(0.01)
        tasks.append(asyncio.create_task(visit("small", 1, later)))  # there is a place, but it came later
        await asyncio.sleep(0.01)
        assert entered == ["first"] and places.taken == 2
        first.set()
        await asyncio.sleep(0.01)
        assert entered == ["first", "large"] and places.taken == 3
        later.set()
        await asyncio.gather(*tasks)
        assert places.taken == 0
        return entered

    assert run_coroutine(main()) == ["first", "large", "small"]


def test_who_waits_too_long_is_refused_and_leaves() -> None:
    async def main() -> None:
        places = Places(1, 0.05)
        async with places.held(1):
            with pytest.raises(Refusal) as refusal:
                async with places.held(1):
                    raise AssertionError
            assert refusal.value.status_code == 503 and refusal.value.headers["Retry-After"]  # type: ignore[index]
        assert places.taken == 0
        async with places.held(5):  # of more texts than there are places: all of them
            assert places.taken == 1

    run_coroutine(main())


def test_who_is_cancelled_while_waiting_gives_its_turn_to_the_next() -> None:
    async def main() -> None:
        places = Places(1, 10.0)
        leave = asyncio.Event()

        async def visit() -> None:
            async with places.held(1):
                await leave.wait()

        tasks = [asyncio.create_task(visit()) for _ in range(3)]
        await asyncio.sleep(0.01)
        tasks[1].cancel()
        tasks[0].cancel()
        await asyncio.sleep(0.01)
        assert places.taken == 1 and not tasks[2].done()
        leave.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert places.taken == 0

    run_coroutine(main())
