"""Server-sent events: an output that grows, token by token."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from regard.pipeline import Result
from regard.server.refusal import Refusal
from regard.server.v1_requests import output_of


async def events(outputs: AsyncGenerator[Result, None], first: Result | None) -> AsyncGenerator[bytes, None]:
    """`token` with the output so far for every token, then `done` with the whole, or `error`."""
    last = first
    async with aclosing(outputs):  # who hangs up gives back the place in the queue
        if first is not None:
            yield _event("token", output_of(first).model_dump(exclude_none=True))
        try:
            async for result in outputs:
                last = result
                yield _event("token", output_of(result).model_dump(exclude_none=True))
        except Refusal as error:
            yield _event("error", {"error": error.message})
            return
    yield _event("done", output_of(last).model_dump(exclude_none=True) if last else {})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class EventStream(Response):
    """Server-sent events, written by the task that answers: what it holds ends with it, even if the client hangs up."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._events) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
