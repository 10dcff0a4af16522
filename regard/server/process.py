"""The process of `regard serve`: uvicorn with time limits for connections, signals, what is printed at the start."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from regard.config.values import Engine
from regard.errors import UserError
from regard.server.access import read_keys
from regard.server.application import ServerApp, app
from regard.server.languages import language_name
from regard.server.metrics import RequestLog
from regard.server.refusal import Refusal
from regard.server.served import RunToServe, ServedModel
from regard.server.settings import ServerSettings

HEAD_SECONDS = 20  # in which the head of a request must have arrived
CONNECTIONS = 4096  # more are refused by uvicorn itself
# Decoding is Python between torch's operations, in a thread of its own. By default it gives the interpreter to the
# event loop after 5 ms only, and a request needs the loop several times.
SWITCH_SECONDS = 0.0005
BACKLOG = 2048  # connections that wait to be accepted, as of uvicorn


class TimedProtocol(AutoHTTPProtocol):
    """uvicorn waits for the head of a request as long as its client likes; a thousand such clients would hold a
    thousand sockets."""

    cycle: Any  # of the request that is read or answered
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        super().data_received(data)
        if idle:
            self._await_head()

    def _await_head(self) -> None:
        cycle = self.cycle
        self.loop.call_later(HEAD_SECONDS, self._close_if_late, cycle)

    def _close_if_late(self, before: Any) -> None:
        """No request has begun since, and none is being answered."""
        if self.cycle is before and (before is None or before.response_complete):
            self.transport.close()


def run_server(
    runs: Sequence[RunToServe],
    settings: ServerSettings,
    *,
    host: str,
    port: int,
    key_file: Path | None = None,
    suggestions: Path | None = None,
    any_pair: bool = False,
    memory: bool = False,
    threads: int | None = None,
    engine: Engine = "auto",
) -> int:
    """Serve until a signal ends it."""
    started = time.perf_counter()
    sys.setswitchinterval(SWITCH_SECONDS)
    sockets = [_bound(host, port)]  # before models are loaded: a port that is taken is known at once
    application = app(
        runs,
        settings,
        keys=read_keys(key_file) if key_file else (),
        suggestions=suggestions,
        any_pair=any_pair,
        memory=memory,
        threads=threads,
        engine=engine,
        log=RequestLog(),
    )
    for model in application.service.models.values():
        print(f"{model.name}: {_description(model)}", file=sys.stderr)
    sockets[0].listen(BACKLOG)  # who comes before the event loop runs waits for it
    address, number = sockets[0].getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    print(
        f"serving on http://{shown}:{number}/ after {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True
    )
    config = uvicorn.Config(
        application,
        http=TimedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    asyncio.run(_serve(uvicorn.Server(config), application, sockets))
    return 0


async def _serve(server: uvicorn.Server, application: ServerApp, sockets: list[socket.socket]) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, application)
    await server.serve(sockets)


_reloads: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive


def _reload(application: ServerApp) -> None:
    task = asyncio.ensure_future(_reloaded(application))
    _reloads.add(task)
    task.add_done_callback(_reloads.discard)


async def _reloaded(application: ServerApp) -> None:
    try:
        models = await application.service.reload()
        print(f"loaded again: {', '.join(model.name for model in models)}", file=sys.stderr, flush=True)
    except Refusal as error:
        print(f"regard: {error.message}", file=sys.stderr, flush=True)


def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise UserError(f"--port {port}: take one from 1 to {2**16 - 1}, or 0 for any that is free")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --host or --port"
        ) from None
    return bound


def _description(model: ServedModel) -> str:
    pair = model.pair
    if pair is not None:
        return f"{language_name(pair.source)} to {language_name(pair.target)} ({pair})"
    if model.task == "translation":
        return f"translation; its languages are unknown, so only /v1 reaches it (--as en-fr={model.path} names them)"
    return model.task + (", detects languages" if model.detects_languages else "")
