"""The application: the service, the routers of all dialects, and what stands around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.checkpoint import package_version
from regard.config.values import Engine
from regard.errors import UserError
from regard.server.access import Access
from regard.server.apertium import apertium_router
from regard.server.deepl import deepl_router
from regard.server.dialect import first_error
from regard.server.libretranslate import libretranslate_error, libretranslate_router
from regard.server.metrics import RequestLog
from regard.server.page import page_router
from regard.server.served import RunToServe
from regard.server.service import Service
from regard.server.settings import ServerSettings
from regard.server.suggestions import Suggestions
from regard.server.tmserver import memories_of, tmserver_router
from regard.server.translation import Translation
from regard.server.transport import Transport
from regard.server.v1 import v1_router

DESCRIPTION = """Sequence-to-sequence models behind the APIs that clients already speak. Errors are one line that says
what to change. Limits are those of `regard serve --help`."""


class ServerApp:
    """An ASGI application: serve it, or mount it in one of your own. `service` is what it answers with."""

    def __init__(self, service: Service, inner: FastAPI, outer: ASGIApp) -> None:
        self.service, self.inner, self._outer = service, inner, outer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outer(scope, receive, send)


def app(
    runs: Sequence[str | Path | RunToServe],
    settings: ServerSettings | None = None,
    *,
    keys: Sequence[str] = (),
    suggestions: str | Path | None = None,
    any_pair: bool = False,
    memory: bool = False,
    threads: int | None = None,
    engine: Engine = "auto",
    log: RequestLog | None = None,
) -> ServerApp:
    """Run directories as an ASGI application.

    `keys`: API keys, one of which every request must have. `suggestions`: the .jsonl file that /suggest adds to.
    `any_pair`: a pair of languages that no run is for goes to the first translator. `memory`: the training pairs are
    served as a translation memory. `log`: where each request is noted.
    """
    settings = settings or ServerSettings()
    named = [run if isinstance(run, RunToServe) else RunToServe(Path(run)) for run in runs]
    service = Service(named, settings, threads, engine)
    if any_pair and not any(model.task == "translation" for model in service.models.values()):
        raise UserError("--accept-any-pair: no translator is served")
    access = Access(keys, settings.rate)
    translation = Translation(service, any_pair)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    inner = FastAPI(
        title="regard", version=package_version(), description=DESCRIPTION, docs_url=None, redoc_url=None,
        lifespan=lifespan, separate_input_output_schemas=False,
    )  # fmt: skip
    kept = Suggestions(Path(suggestions)) if suggestions else None
    for router in (
        libretranslate_router(translation, access, kept),
        deepl_router(translation, access),
        apertium_router(translation, access),
        tmserver_router(service, access, memories_of(service) if memory else {}),
        v1_router(service, access),
    ):
        inner.include_router(router)
    inner.include_router(page_router())
    inner.add_exception_handler(HTTPException, _refused)
    inner.add_exception_handler(RequestValidationError, _invalid)
    inner.add_exception_handler(Exception, _broken)

    @inner.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        access.check(request)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return ServerApp(service, inner, Transport(inner, settings, service.metrics, log))


async def _refused(request: Request, error: Any) -> Response:
    """Of routes that no dialect has: 404, 405."""
    return JSONResponse(libretranslate_error(error.status_code, str(error.detail)), error.status_code, error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    return JSONResponse(libretranslate_error(400, first_error(error)), 400)


async def _broken(request: Request, error: Exception) -> Response:
    """A mistake of ours: the client learns no more than that; the traceback is in the server's log."""
    return JSONResponse(libretranslate_error(500, "this server made a mistake; its log says which"), 500)
