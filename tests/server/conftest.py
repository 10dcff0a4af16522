"""A live server on a free port of this machine, with tiny runs; and a client that follows no redirect by itself."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from regard.server import RunToServe, ServerApp, ServerSettings, app
from regard.server.languages import LanguageDirection
from regard.server.process import TimedProtocol

ENGLISH_SPANISH = LanguageDirection("en", "es")


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class LiveServer:
    application: ServerApp
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, json_body: Any = None, form: Any = None, **headers: str) -> Reply:
        if form is not None:
            kind, body = "application/x-www-form-urlencoded", urllib.parse.urlencode(form, doseq=True).encode()
        else:
            kind, body = "application/json", json.dumps(json_body).encode()
        return self.ask("POST", path, body, {"content-type": kind, **headers})

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read())


@contextmanager
def running(application: ServerApp) -> Iterator[LiveServer]:
    """The application behind uvicorn, in a thread."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(application, http=TimedProtocol, log_level="error", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            threading.Event().wait(0.01)
        yield LiveServer(application, bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@pytest.fixture(scope="session")
def serving() -> Callable[..., Any]:
    """serving(runs, **arguments of regard.server.app) → a context manager of a live server."""

    def make(runs: list[Any], settings: dict[str, Any] | None = None, **arguments: Any) -> Any:
        return running(app(runs, ServerSettings(**(settings or {})), threads=1, **arguments))

    return make


@pytest.fixture(scope="session")
def spanish_run(translator_run: Path) -> RunToServe:
    """The run that copies letters, as if they were English and Spanish."""
    return RunToServe(translator_run, ENGLISH_SPANISH)


@pytest.fixture(scope="session")
def live(
    serving: Callable[..., Any],
    spanish_run: RunToServe,
    classifier_run: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveServer]:
    """A translator from English to Spanish, a detector of languages, and /suggest."""
    suggestions = tmp_path_factory.mktemp("server") / "suggestions.jsonl"
    with serving([spanish_run, classifier_run], suggestions=suggestions) as server:
        yield server


@pytest.fixture
def copied_run(translator_run: Path, tmp_path: Path) -> RunToServe:
    """A run directory that a test may change."""
    return RunToServe(Path(shutil.copytree(translator_run, tmp_path / "changing")), ENGLISH_SPANISH)
