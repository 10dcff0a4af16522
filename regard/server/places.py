"""Backpressure: how many texts may be in work or waiting. Who comes to a full queue waits a while, then is refused."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from regard.server.refusal import busy


class Places:
    """A counted semaphore that serves in order of arrival. A request holds its places until it has its answer or its
    client hangs up."""

    def __init__(self, capacity: int, wait_seconds: float) -> None:
        self.capacity = capacity
        self.taken = 0
        self._wait_seconds = wait_seconds
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def held(self, count: int) -> AsyncIterator[None]:
        """As many places as there are texts, all of them for a request of more texts than there are places."""
        count = min(count, self.capacity)
        await self._take(count)
        try:
            yield
        finally:
            self.taken -= count
            self._admit()

    async def _take(self, count: int) -> None:
        if not self._waiting and self.taken + count <= self.capacity:
            self.taken += count
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (count, turn)
        self._waiting.append(entry)
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._wait_seconds)
        except TimeoutError:
            if turn.done():  # admitted at the last moment
                return
            self._leave(entry)
            raise busy(f"the server is busy: no place within {self._wait_seconds:g} seconds; come again") from None
        except asyncio.CancelledError:
            if turn.done():
                self.taken -= count
            self._leave(entry)
            raise

    def _leave(self, entry: tuple[int, asyncio.Future[None]]) -> None:
        if entry in self._waiting:
            self._waiting.remove(entry)
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.taken + self._waiting[0][0] <= self.capacity:
            count, turn = self._waiting.popleft()
            self.taken += count
            turn.set_result(None)
