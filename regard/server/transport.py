"""What stands around every route: bodies with limits, clients that hang up, CORS, the log line and the metrics.

A body is read whole before the route runs, so that a slow client holds nothing but its connection. From then on only
one message can come from the client, that it has gone: it cancels the request, and its texts leave the queue.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.metrics import HUNG_UP, RequestLog, ServerMetrics, now
from regard.server.refusal import Refusal
from regard.server.settings import ServerSettings

CORS = {
    "Access-Control-Allow-Origin": "*",  # without credentials, which browsers refuse together with *
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Max-Age": "1728000",
}
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
HEADERS = [(name.lower().encode(), value.encode()) for name, value in (CORS | SAFE).items()]
DETAILS = "regard.details"  # in the scope: what a route adds to the log line


@dataclass
class Exchange:
    """One request and what was sent back."""

    scope: Scope
    status: int = HUNG_UP
    started: float = field(default_factory=now)

    @property
    def route(self) -> str:
        """The route's template, never the path that was asked for: that may be anything."""
        return getattr(self.scope.get("route"), "path", "(other)")


class Transport:
    """ASGI around the application."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: ServerMetrics, log: RequestLog | None) -> None:
        self.app, self.settings, self.metrics, self.log = app, settings, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope)
        scope[DETAILS] = {}

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                names = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in names)]
            await send(message)

        try:
            if scope["method"] == "OPTIONS":
                await observed({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
                await observed({"type": "http.response.body", "body": b""})
            else:
                await self._answer(scope, receive, observed)
        except OSError:  # the client closed the connection while it was written to
            exchange.status = HUNG_UP
        finally:
            self._account(exchange)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(receive)
        if body is None:
            return
        gone = asyncio.Event()
        replay = _Replay(body, gone)
        answer = asyncio.ensure_future(self.app(scope, replay, send))
        watch = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({answer, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                gone.set()
                answer.cancel()
                await asyncio.gather(answer, return_exceptions=True)
                return
            answer.result()
        finally:
            watch.cancel()
            if not answer.done():  # the server stops
                answer.cancel()
                await asyncio.gather(answer, return_exceptions=True)

    async def _body(self, receive: Receive) -> bytes | Refusal | None:
        """The body; why it is refused; None where the client has gone."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    piece = message.get("body", b"")
                    size += len(piece)
                    if size > self.settings.body_bytes:
                        most = f"{self.settings.body_bytes:,} bytes"
                        return Refusal(413, f"Invalid request: the body exceeds {most}; send fewer or shorter texts")
                    pieces.append(piece)
                    if not message.get("more_body", False):
                        return b"".join(pieces)
        except TimeoutError:
            return Refusal(408, f"the request did not arrive within {self.settings.body_seconds:g} seconds")

    def _account(self, exchange: Exchange) -> None:
        seconds = now() - exchange.started
        method = exchange.scope["method"] if exchange.scope["method"] in ("GET", "POST", "OPTIONS", "HEAD") else "other"
        self.metrics.requests.labels(method, exchange.route, str(exchange.status)).inc()
        self.metrics.seconds.labels(exchange.route).observe(seconds)
        if self.log is not None:
            details: dict[str, Any] = exchange.scope.get(DETAILS, {})
            self.log.write(method, exchange.route, exchange.status, seconds, details)


class _Replay:
    """The messages that a route receives: the body that was read, then nothing until the client has gone."""

    def __init__(self, body: bytes | Refusal, gone: asyncio.Event) -> None:
        self._body: bytes | Refusal | None = body
        self._gone = gone

    async def __call__(self) -> Message:
        body, self._body = self._body, None
        if isinstance(body, Refusal):
            raise body
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
