"""LibreTranslate's API: its own tests, unmodified, and what its clients send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.pipeline import Pipeline
from regard.server.languages import language_code

PLUGIN = """
import json, os, urllib.error, urllib.parse, urllib.request, pytest
class Response:
    def __init__(self, code, data): self.status_code, self.data = code, data
    json = property(lambda self: json.loads(self.data))
class Client:
    def _go(self, method, path, data=None, js=None):
        body, head = (b"" if method == "POST" else None), {}
        if js is not None: body, head = json.dumps(js).encode(), {"Content-Type": "application/json"}
        elif data is not None: body = urllib.parse.urlencode(data).encode()
        try:
            request = urllib.request.Request(os.environ["LT_URL"] + path, body, head, method=method)
            with urllib.request.urlopen(request) as answer: return Response(answer.status, answer.read())
        except urllib.error.HTTPError as error: return Response(error.code, error.read())
    def get(self, path): return self._go("GET", path)
    def post(self, path, data=None, json=None): return self._go("POST", path, data, json)
@pytest.fixture
def client(): return Client()
"""


def test_its_own_tests_pass_unmodified(live: Any, tmp_path: Path) -> None:
    """From its wheel, which is under the AGPL: it is downloaded here and stays nowhere."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
    download = subprocess.run([*command, "--retries", "0", "-d", str(tmp_path), "libretranslate==1.9.6"], check=False)
    if download.returncode:
        pytest.skip("the wheel of libretranslate 1.9.6 cannot be downloaded here")
    with zipfile.ZipFile(next(tmp_path.glob("libretranslate-*.whl"))) as wheel:
        wheel.extractall(tmp_path, [n for n in wheel.namelist() if n.startswith("libretranslate/tests/test_api/")])
    (tmp_path / "conformance_plugin.py").write_text(PLUGIN)
    tests = str(tmp_path / "libretranslate" / "tests" / "test_api")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conformance_plugin", "--noconftest", "-c", os.devnull, tests],
        env={**os.environ, "LT_URL": live.url, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "14 passed" in done.stdout


@pytest.fixture(scope="module")
def copier(translator_run: Path) -> Pipeline:
    return regard.load(translator_run, threads=1)


def test_answers_are_those_of_the_library(live: Any, copier: Pipeline) -> None:
    texts = [example.source for example in copier.run.examples("test")]
    answer = live.post("/translate", {"q": texts, "source": "en", "target": "es"})
    assert answer.json["translatedText"] == [result.text for result in copier.translate(texts)]


def test_every_kind_of_body_is_read(live: Any) -> None:
    fields = {"q": "abc", "source": "EN", "target": "es", "format": "text"}
    expected = {"translatedText": "abc"}
    assert live.post("/translate", fields).json == expected
    assert live.post("/translate", form=fields).json == expected
    query = "&".join(f"{name}={value}" for name, value in fields.items())
    assert live.ask("POST", f"/translate?{query}", b"", {}).json == expected, "deep-translator"
    parts = "".join(
        f'--X\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    )
    multipart = {"content-type": "multipart/form-data; boundary=X"}
    assert live.ask("POST", "/translate", f"{parts}--X--\r\n".encode(), multipart).json == expected


RECORDED: dict[str, dict[str, Any]] = {
    "Weblate": {"api_key": "", "q": ["abc", "[X0X] ba"], "source": "en", "target": "es"},
    "Mastodon": {"q": ["<p>abc</p>"], "source": "en", "target": "es", "format": "html", "api_key": None},
    "Mastodon, auto": {"q": ["<p>abc</p>", "cab"], "source": "auto", "target": "es", "format": "html"},
    "wagtail-localize": {"q": ["abc", "ab"], "source": "en", "target": "es", "api_key": "k", "format": "html"},
    "npm libretranslate": {"q": "abc", "source": "en", "target": "es", "format": "text", "apiKey": ""},
    "libretranslate-ts": {"q": "ab", "source": "en", "target": "es", "format": "text", "api_key": None, "x": 3},
}


@pytest.mark.parametrize("client", RECORDED)
def test_what_clients_send_is_answered_in_kind(
    serving: Callable[..., Any], spanish_run: Any, live: Any, client: str
) -> None:
    request = RECORDED[client]
    if request["source"] == "auto":
        with serving([spanish_run]) as alone:  # its only source language is the one that is detected
            answer = alone.post("/translate", request)
        assert [found["language"] for found in answer.json["detectedLanguage"]] == ["en", "en"]
    else:
        answer = live.post("/translate", request)
        assert "detectedLanguage" not in answer.json
    translated, q = answer.json["translatedText"], request["q"]
    assert answer.status == 200 and type(translated) is type(q)
    if isinstance(q, list):
        assert len(translated) == len(q) and all(isinstance(text, str) and text for text in translated)
    if client == "Weblate":
        assert "[X0X]" in translated[1], "its placeholder"
    if request.get("format") == "html" and client.startswith("Mastodon"):
        assert translated[0] == "<p>abc</p>"


def test_get_languages_may_have_a_body(live: Any) -> None:
    """libretranslatepy sends one."""
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = live.ask("GET", "/languages", b"api_key=", kind)
    assert {"code": "en", "name": "English", "targets": ["en", "es"]} in answer.json
    assert {"code": "es", "name": "Spanish", "targets": ["es"]} in answer.json


def test_alternatives_are_others(live: Any) -> None:
    answer = live.post("/translate", {"q": ["abc", "b"], "source": "en", "target": "es", "alternatives": 2}).json
    for best, others in zip(answer["translatedText"], answer["alternatives"], strict=True):
        assert len(set(others)) == len(others) and best not in others and all(others)
    one = live.post("/translate", form={"q": "abc", "source": "en", "target": "es", "alternatives": "2"}).json
    assert one["alternatives"] == answer["alternatives"][0]


def test_detect_is_the_classifier_sorted(live: Any, classifier_run: Path) -> None:
    text = "Frankreich und Spanien"
    found = live.post("/detect", form={"q": text}).json
    expected = regard.load(classifier_run, threads=1).translate(text).probabilities
    assert {entry["language"]: entry["confidence"] for entry in found} == pytest.approx(
        {language_code(name): 100 * share for name, share in expected.items()}, abs=0.06
    )
    assert [entry["confidence"] for entry in found] == sorted((e["confidence"] for e in found), reverse=True)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"source": "en", "target": "es"}, "Invalid request: missing q parameter"),
    ({"q": "", "source": "en", "target": "es"}, "Invalid request: missing q parameter"),
    ({"q": [], "source": "en", "target": "es"}, "Invalid request: missing q parameter"),
    ({"q": "a", "target": "es"}, "Invalid request: missing source parameter"),
    ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
    ({"q": "a", "source": "zz", "target": "es"}, "zz is not supported"),
    (
        {"q": "a", "source": "es", "target": "en"},
        "English (en) is not available as a target language",
    ),
    ({"q": "a", "source": "en", "target": "es", "format": "rtf"}, "rtf format is not supported"),
    ({"q": "a", "source": "en", "target": "es", "alternatives": "abc"}, "alternatives is not a number"),
    ({"q": "a", "source": "en", "target": "es", "alternatives": 99}, "alternatives parameter must be <= 10"),
    ({"q": 5, "source": "en", "target": "es"}, "q must be a text or a list of texts"),
    ({"q": ["a", 5], "source": "en", "target": "es"}, "q must be a text or a list of texts"),
    ({"q": "a", "source": {}, "target": "es"}, "source must be a text"),
    ({"q": "\ud800", "source": "en", "target": "es"}, "lone surrogate"),
    ({"q": "a" * 10_001, "source": "en", "target": "es"}, "request (10001) exceeds text limit (10000)"),
    ({"q": ["a"] * 129, "source": "en", "target": "es"}, "request (129) exceeds text limit (128)"),
    ({"q": "ab" * 600, "source": "en", "target": "es"}, "split it"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals_have_its_form(live: Any, fields: dict[str, Any], message: str) -> None:
    answer = live.post("/translate", fields)
    assert answer.status == 400 and message in answer.json["error"]
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Credentials"] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"[1]", "Invalid JSON format"), (b'{"q":', "could not understand"), (b"[" * 100_000, "could")],
)
def test_damaged_json_is_refused(live: Any, body: bytes, message: str) -> None:
    answer = live.ask("POST", "/translate", body, {"content-type": "application/json"})
    assert answer.status == 400 and message in answer.json["error"]


def test_suggestions_are_kept_for_the_next_training(live: Any, serving: Callable[..., Any], spanish_run: Any) -> None:
    fields = {"q": "abc", "s": "cba", "source": "en", "target": "es"}
    assert live.get("/frontend/settings").json["suggestions"] is True
    assert live.post("/suggest", form=fields).json == {"success": True}
    with serving([spanish_run]) as without:
        answer = without.post("/suggest", fields)
    assert answer.status == 403 and answer.json == {"error": "Suggestions are disabled on this server."}


def test_texts_that_are_no_attack_are_texts(live: Any) -> None:
    """Controls, markup and NULs are translated as any text; what has no letters comes back as it is."""
    hostile = ["<img src=x onerror=alert(1)>abc", "abc\u202ecba\u2066", "a\x00b", "😀 🎉!", "  abc \r\n\r\n bca  "]
    answer = live.post("/translate", {"q": hostile, "source": "en", "target": "es"})
    assert answer.status == 200 and len(answer.json["translatedText"]) == len(hostile)
    assert answer.json["translatedText"][3] == hostile[3]
    assert answer.json["translatedText"][4] == hostile[4], "white space and line ends are kept"
    assert (
        answer.headers["content-type"] == "application/json" and answer.headers["x-content-type-options"] == "nosniff"
    )
    markup = live.post("/translate", {"q": hostile[0], "source": "en", "target": "es", "format": "html"}).json
    assert markup["translatedText"] == hostile[0]


def test_one_language_is_its_own_translation(live: Any) -> None:
    assert live.post("/translate", {"q": "xyz", "source": "es", "target": "ES"}).json == {"translatedText": "xyz"}


def test_any_pair_goes_to_the_first_translator_where_that_is_asked_for(
    serving: Callable[..., Any], spanish_run: Any
) -> None:
    """Weblate tests a new service with English and German."""
    with serving([spanish_run], any_pair=True) as server:
        answer = server.post("/translate", {"q": ["test"], "source": "en", "target": "de", "api_key": ""})
    assert answer.status == 200 and len(answer.json["translatedText"]) == 1


def test_the_openapi_description_is_of_version_3_1(live: Any) -> None:
    described = json.loads(live.get("/openapi.json").body)
    assert described["openapi"].startswith("3.1") and "/translate" in described["paths"]
