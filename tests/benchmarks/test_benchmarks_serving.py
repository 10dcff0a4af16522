"""The load of the serving benchmark against a server that answers, answers otherwise, fails, and breaks off."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from _http_load import Load, Target, load

ANSWERS = {"right": b'{"translatedText":"right"}', "other": b'{"translatedText":"x"}'}


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.readline():
            length = 0
            while (line := self.rfile.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            text = self.rfile.read(length).decode()
            if "breaks" in text or not head:
                return
            body = next((answer for word, answer in ANSWERS.items() if word in text), b"")
            status = b"200 OK" if body else b"503 Busy"
            self.wfile.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))


@pytest.fixture
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_what_clients_saw_is_counted(port: int) -> None:
    expected = {"right": "right", "other": "other", "busy": "busy", "breaks": "breaks"}
    with ThreadPoolExecutor(1) as thread:  # which has no event loop yet
        asked = Target(port, "en", "fr", list(expected), expected)
        seen = thread.submit(load, asked, clients=3, requests=40).result()
    assert (len(seen.times), seen.failures, seen.wrong) == (30, 20, 10), "the broken ones have no time"


def test_percentiles_and_rate() -> None:
    seen = Load(seconds=2.0, times=[0.001 * number for number in range(1, 101)])
    assert seen.rate == 50
    assert seen.percentile(50) == pytest.approx(50.5) and seen.percentile(99) == pytest.approx(99.99)
    assert seen.row("server", 4).startswith("| server | 4 | 50.0 | 50.5 |")
