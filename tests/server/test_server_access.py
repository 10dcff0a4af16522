"""Keys and rates, with a clock of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from regard.errors import UserError
from regard.server.access import CALLERS, Access, read_keys
from regard.server.refusal import Refusal


def request(host: str = "10.0.0.1", authorization: str = "") -> Request:
    headers = [(b"authorization", authorization.encode())] if authorization else []
    return Request({"type": "http", "headers": headers, "client": (host, 1), "query_string": b""})


def status(access: Access, asked: Request, key: object = None) -> int:
    try:
        access.check(asked, key)
    except Refusal as error:
        return error.status_code
    return 200


def test_a_key_comes_in_the_body_or_in_the_header() -> None:
    access = Access(["one", "two"], 0)
    assert status(access, request()) == 401
    assert status(access, request(), "three") == 403 == status(access, request(), "on")
    assert status(access, request(), "two") == status(access, request(authorization="Bearer one")) == 200
    assert status(access, request(authorization="DeepL-Auth-Key two")) == 200
    assert status(access, request(authorization="bearer three")) == 403
    assert status(access, request(), 5) == 401 and status(access, request(), "\ud800") == 403
    assert status(Access([], 0), request(), "anything") == 200


def test_a_rate_is_for_each_caller_and_fills_up_again() -> None:
    time = [0.0]
    access = Access([], 60, lambda: time[0])
    assert [status(access, request()) for _ in range(61)] == [200] * 60 + [429]
    assert status(access, request("10.0.0.2")) == 200
    time[0] = 1.0
    assert [status(access, request()) for _ in range(2)] == [200, 429]
    with pytest.raises(Refusal) as refusal:
        access.check(request())
    assert refusal.value.headers == {"Retry-After": "1"}


def test_with_keys_a_rate_is_for_each_key() -> None:
    access = Access(["a", "b"], 1, lambda: 0.0)
    assert [status(access, request(host), key) for host, key in (("1", "a"), ("2", "a"), ("1", "b"))] == [200, 429, 200]


def test_callers_that_are_remembered_are_few() -> None:
    access = Access([], 5, lambda: 0.0)
    for number in range(CALLERS + 10):
        access.check(request(str(number)))
    assert len(access._buckets) == CALLERS


def test_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# of the office\nabc\n\n  def \n")
    assert read_keys(file) == ["abc", "def"]
    file.write_text("# none\n")
    with pytest.raises(UserError, match="holds no key"):
        read_keys(file)


@pytest.mark.parametrize(
    ("path", "open_to_all"),
    [
        *(("/languages", True), ("/health", True), ("/frontend/settings", True), ("/listPairs", True)),
        *(("/v1/models", False), ("/metrics", False), ("/v2/usage", False), ("/tmserver/languages/", False)),
    ],
)
def test_what_needs_a_key(serving: Any, spanish_run: Any, path: str, open_to_all: bool) -> None:
    with serving([spanish_run], keys=["right"]) as server:
        assert (server.get(path).status == 200) == open_to_all
        with_key = server.get(path, authorization="Bearer right")
        assert with_key.status == (404 if path.startswith("/tmserver") else 200)
        answer = server.post("/translate", {"q": "a", "source": "en", "target": "es"})
        assert answer.status == 401 and "API key" in answer.json["error"]
        assert server.get("/frontend/settings").json["keyRequired"] is True
