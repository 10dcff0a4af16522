"""Files that are sent, translated and fetched."""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from regard.server import translated_files

PO = """msgid ""
msgstr ""
"Language: es\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

#: main.c:1
msgid "abc"
msgstr ""

msgid "ba"
msgstr "kept"
"""


def send(server: Any, name: str, content: bytes, **fields: str) -> Any:
    fields = {"source": "en", "target": "es", **fields}
    parts = "".join(
        f'--X\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()
    ).encode()
    parts += f'--X\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content
    kind = {"content-type": "multipart/form-data; boundary=X"}
    return server.ask("POST", "/translate_file", parts + b"\r\n--X--\r\n", kind)


def fetched(server: Any, answer: Any) -> Any:
    address = urllib.parse.urlsplit(answer.json["translatedFileUrl"])
    assert address.netloc == f"127.0.0.1:{server.port}"
    return server.get(address.path)


def test_a_text_is_translated_line_by_line(live: Any) -> None:
    lines = [f"{'abcd'[: 1 + number % 4]}" for number in range(300)]
    text = "\n".join(lines) + "\n\n  ba \r\n😀\n"
    answer = send(live, "my days.txt", text.encode())
    assert answer.json["translatedFileUrl"].endswith(".my_days_es.txt")
    file = fetched(live, answer)
    assert file.body.decode() == text
    assert file.headers["content-disposition"] == 'attachment; filename="my_days_es.txt"'


def test_a_catalog_keeps_what_it_has(live: Any) -> None:
    file = fetched(live, send(live, "app.po", PO.encode())).body.decode()
    assert 'msgid "abc"\nmsgstr "abc"' in file and 'msgstr "kept"' in file and "#: main.c:1" in file


def test_strings_of_one_language_are_translated(live: Any) -> None:
    strings = fetched(live, send(live, "strings.xml", b'<resources><string name="a">abc</string></resources>'))
    assert strings.body == b'<resources><string name="a">abc</string></resources>'
    answer = send(live, "app.json", b'{"title": "ba", "rest": {"x": "cab"}}')
    assert fetched(live, answer).json == {"title": "ba", "rest": {"x": "cab"}}


@pytest.mark.parametrize(
    ("name", "content", "fields", "message"),
    [
        ("x.rtf", b"abc", {}, "file format not supported"),
        ("x", b"abc", {}, "file format not supported"),
        ("x.txt", b"\xff\xfe", {}, "not UTF-8"),
        ("x.txt", b"ab" * 600, {}, "split it"),
        ("x.txt", b"abc", {"target": "zz"}, "zz is not supported"),
        ("x.txt", b"abc", {"source": ""}, "missing source"),
        ("x.po", b"no catalog", {}, "file:"),
        ("x.xlf", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", {}, "file"),
    ],
)
def test_refusals(live: Any, name: str, content: bytes, fields: dict[str, str], message: str) -> None:
    answer = send(live, name, content, **fields)
    assert answer.status == 400 and message in answer.json["error"], answer.body
    assert "/tmp" not in answer.json["error"]


@pytest.mark.parametrize("name", ["x", "..%2f..%2fetc%2fpasswd", "00000000-0000-0000-0000-000000000000.x.txt"])
def test_only_files_that_were_made_are_given(live: Any, name: str) -> None:
    assert live.get(f"/download_file/{name}").status in (400, 404)
    assert live.get("/translate_file").status == 405


def test_files_are_deleted_after_their_time(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = send(live, "x.txt", b"abc")
    assert fetched(live, answer).status == 200
    monkeypatch.setattr(translated_files, "SECONDS", 0)
    assert fetched(live, answer).status == 400


def test_a_name_cannot_leave_the_folder(live: Any, tmp_path: Path) -> None:
    answer = send(live, "../../../etc/cron.d/x.txt", b"abc", target="es")
    assert "/" not in answer.json["translatedFileUrl"].partition("download_file/")[2]
    assert fetched(live, answer).body == b"abc"
