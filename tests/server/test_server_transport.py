"""Clients that are slow, broken, half gone or gone; and what stands around every answer."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from regard.server import RunToServe, ServerSettings, app
from regard.server.metrics import RequestLog


@pytest.fixture(scope="module")
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(scope="module")
def strict(serving: Callable[..., Any], spanish_run: RunToServe, log: io.StringIO) -> Iterator[Any]:
    """A server that waits half a second for a body, and takes few bytes."""
    limits = {"body_seconds": 0.5, "body_bytes": 2000}
    with serving([spanish_run], limits, log=RequestLog(log)) as server:
        yield server


def raw(server: Any, *pieces: bytes, close_writing: bool = False, wait: float = 0.0) -> bytes:
    """What the server sends until it closes the connection, or is silent for a while."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(wait)
        if close_writing:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
                if b"content-length" in received.lower() and received.count(b"\r\n\r\n") and received.endswith(b"}"):
                    break
        except OSError:
            pass
        return received


HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
GOOD = json.dumps({"q": "ab", "source": "en", "target": "es"}).encode()


def alive(server: Any) -> None:
    assert server.post("/translate", {"q": "ab", "source": "en", "target": "es"}).json == {"translatedText": "ab"}
    assert server.application.service.places.taken == 0


def test_a_body_that_drips_is_refused_in_the_dialects_form(strict: Any) -> None:
    answer = raw(strict, HEAD + b"Content-Length: 60\r\n\r\n", b'{"q"', wait=0.1)
    assert b" 408 " in answer.split(b"\r\n")[0] and b'{"error":"the request did not arrive' in answer
    alive(strict)


def test_a_body_that_is_too_large_is_refused(strict: Any) -> None:
    answer = strict.post("/translate", {"q": "a" * 3000, "source": "en", "target": "es"})
    assert answer.status == 413 and "2,000 bytes" in answer.json["error"]
    deepl = strict.post("/v2/translate", {"text": ["a" * 3000], "target_lang": "ES"})
    assert deepl.status == 413 and "2,000 bytes" in deepl.json["message"]
    own = strict.post("/v1/translate", {"text": "a" * 3000})
    assert own.status == 413 and "2,000 bytes" in own.json["error"]
    alive(strict)


def test_a_head_that_never_ends_is_cut_off(strict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.server.process.HEAD_SECONDS", 0.3)
    assert raw(strict, b"GET /health HTTP/1.1\r\nX: ") == b"", "closed without an answer"
    assert raw(strict) == b"", "and who says nothing at all"
    alive(strict)


def test_who_closes_while_sending_leaves_nothing_behind(strict: Any) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", strict.port)) as connection:
            connection.sendall(HEAD + b"Content-Length: 60\r\n\r\n{")
    raw(strict, HEAD + b"Content-Length: 60\r\n\r\n{", close_writing=True)
    alive(strict)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /none HTTP/9.9\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    ],
    ids=["bytes", "version", "length", "chunks", "path", "headers"],
)
def test_what_is_no_request_gets_400_or_nothing(strict: Any, garbage: bytes) -> None:
    answer = raw(strict, garbage)
    assert not answer or answer.split(b" ", 2)[1] in (b"400", b"404", b"431", b"505"), answer[:100]
    alive(strict)


def test_a_good_request_in_pieces_is_answered(strict: Any) -> None:
    whole = HEAD + f"Content-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD
    answer = raw(strict, *(whole[i : i + 40] for i in range(0, len(whole), 40)), wait=0.01)
    assert answer.endswith(b'{"translatedText":"ab"}')


def test_a_megabyte_is_refused_by_its_length_and_a_megabyte_of_lines_is_translated(
    serving: Callable[..., Any], spanish_run: RunToServe
) -> None:
    with serving([spanish_run], {"characters": 2_000_000, "body_bytes": 20_000_000}) as server:
        line = server.post("/translate", {"q": "ab" * 500_000, "source": "en", "target": "es"})
        assert line.status == 400 and "split it" in line.json["error"]
        text = "😀😀😀 \n" * 200_000  # nothing in it is translated, and all comes back
        lines = server.post("/translate", {"q": text, "source": "en", "target": "es"})
        assert lines.json["translatedText"] == text


def test_who_hangs_up_frees_the_place(serving: Callable[..., Any], spanish_run: RunToServe) -> None:
    """The thread of the models is held by other work; a request waits, its client goes."""
    with serving([spanish_run]) as server:
        service, hold = server.application.service, threading.Event()
        service._executor.submit(hold.wait)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(HEAD + f"Content-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD)
            until(lambda: service.places.taken == 1)
        until(lambda: service.places.taken == 0)
        hold.set()
        alive(server)
        assert 'status="499"' in server.get("/metrics").body.decode()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_full_queue_waits_and_then_says_when_to_come_again(serving: Callable[..., Any], spanish_run: Any) -> None:
    with serving([spanish_run], {"queue_texts": 1, "queue_seconds": 0.2}) as server:
        service, hold = server.application.service, threading.Event()
        service._executor.submit(hold.wait)
        answers: list[Any] = []
        body = {"q": "ab", "source": "en", "target": "es"}
        first = threading.Thread(target=lambda: answers.append(server.post("/translate", body)))
        first.start()
        until(lambda: service.places.taken == 1)
        refused = server.post("/translate", body)
        assert refused.status == 503 and refused.headers["Retry-After"] and "busy" in refused.json["error"]
        hold.set()
        first.join()
        assert answers[0].json == {"translatedText": "ab"}


def test_an_answer_that_takes_too_long_is_given_up(serving: Callable[..., Any], spanish_run: Any) -> None:
    with serving([spanish_run], {"answer_seconds": 0.2}) as server:
        hold = threading.Event()
        server.application.service._executor.submit(hold.wait)
        answer = server.post("/translate", {"q": "ab", "source": "en", "target": "es"})
        traced = server.post("/v1/trace", {"text": "ab"})
        hold.set()
        assert answer.status == traced.status == 504 and "0.2 seconds" in answer.json["error"]
        until(lambda: server.application.service.places.taken == 0)


def test_too_often_is_429(serving: Callable[..., Any], spanish_run: Any) -> None:
    with serving([spanish_run], {"rate": 2}) as server:
        body = {"q": "ab", "source": "en", "target": "es"}
        answers = [server.post("/translate", body) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert "Slowdown" in answers[2].json["error"] and int(answers[2].headers["Retry-After"]) <= 30


def test_the_log_line_says_all_but_the_text(strict: Any, log: io.StringIO) -> None:
    log.truncate(0), log.seek(0)
    strict.post("/translate", {"q": "abba", "source": "en", "target": "es"})
    strict.get("/secret/path?token=5")
    until(lambda: log.getvalue().count("\n") == 2)
    first, second = (json.loads(line) for line in log.getvalue().splitlines())
    assert (first["method"], first["route"], first["status"]) == ("POST", "/translate", 200)
    assert first["texts"] == 1 and first["characters"] == 4 and first["seconds"] > 0
    assert second["route"] == "(other)" and "abba" not in log.getvalue() and "secret" not in log.getvalue()


def test_metrics_have_no_texts_addresses_or_keys(live: Any) -> None:
    live.post("/translate", {"q": "abba", "source": "en", "target": "es", "api_key": "k3y"})
    live.get("/nowhere/abba")
    text = live.get("/metrics").body.decode()
    assert 'regard_requests_total{method="POST",route="/translate",status="200"}' in text
    for name in ("regard_request_seconds_bucket", "regard_batch_texts_sum", "regard_source_tokens_total"):
        assert name in text
    assert 'regard_output_tokens_total{model="copy"}' in text and "regard_texts_in_work 0.0" in text
    assert not any(word in text for word in ("abba", "k3y", "127.0.0.1"))


def test_options_are_answered_for_browsers(live: Any) -> None:
    answer = live.ask("OPTIONS", "/translate", None, {"origin": "https://a.example"})
    assert answer.status == 200 and answer.body == b""
    assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST"


def test_the_application_can_be_mounted(spanish_run: RunToServe) -> None:
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    outer = FastAPI()
    outer.mount("/models", app([spanish_run], ServerSettings(), threads=1))
    with TestClient(outer) as client:
        answer = client.post("/models/translate", json={"q": "ab", "source": "en", "target": "es"})
        assert answer.json() == {"translatedText": "ab"}
        assert client.get("/translate").status_code == 404
