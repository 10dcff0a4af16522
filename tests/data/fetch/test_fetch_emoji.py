"""The emoji corpus, made from tiny packages; and the registry's answers, good and bad."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.fetch import fetch_emoji, npm
from regard.data.images import png
from regard.errors import UserError

EMOJI = [chr(0x1F600 + n) for n in range(24)]


def archive(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def artist(name: str, shade: int, drawn: int) -> bytes:
    entries = [{"unified": f"{ord(one):X}-FE0F", "image": f"{ord(one):x}.png"} for one in EMOJI]
    picture = png(np.full((8, 8, 3), shade, np.uint8))
    pictures = {f"img/{name}/64/{entry['image']}": picture for entry in entries[:drawn]}
    return archive({"emoji.json": json.dumps(entries).encode(), "install.js": b"evil()", **pictures})


def names(language: str, count: int) -> bytes:
    known = {one: {"default": ["x"], "tts": [f"{language}  face {n}"]} for n, one in enumerate(EMOJI[:count])}
    return json.dumps({"annotations": {"identity": {}, "annotations": known}}).encode()


def store(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.tgz").write_bytes(data)
    (folder / f"{name}.json").write_text(json.dumps({"version": "1.2", "licence": "MIT"}))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    store(tmp_path / "cache/emoji", "emoji-datasource-google", artist("google", 10, 24))
    store(tmp_path / "cache/emoji", "emoji-datasource-apple", artist("apple", 50, 24))
    store(tmp_path / "cache/emoji", "emoji-datasource-facebook", artist("facebook", 90, 24))
    store(tmp_path / "cache/emoji", "emoji-datasource-twitter", artist("twitter", 200, 22))
    annotations = {f"annotations/{language}/annotations.json": names(language, 23) for language in ("en", "fr")}
    store(tmp_path / "cache/emoji", "cldr-annotations-full", archive(annotations))
    return tmp_path / "cache"


def test_three_artists_train_and_the_fourth_tests(cache: Path, tmp_path: Path) -> None:
    made = fetch_emoji("en,fr", tmp_path / "out" / "emoji", cache=cache)
    assert made.train == 3 * 2 * 22 == 3 * (made.dev + made.test) and made.dev and made.test
    assert made.dropped == {"no name in every language": 1, "no picture by all artists": 1}
    corpus = load_corpus(DataSettings(corpus=str(made.folder)))
    assert corpus.task == "captioning" and corpus.images == made.folder
    assert {row.source.split("/")[0] for row in corpus.train} == {"google", "apple", "facebook"}
    assert all(row.source.startswith("twitter/") for row in [*corpus.dev, *corpus.test])
    assert corpus.train[0].source == "google/1f600.png#en" and corpus.train[0].target == "en face 0"
    readme = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "CC-BY 4.0" in readme and "emoji-datasource-google 1.2" in readme
    assert not list(made.folder.rglob("*.js"))


def test_one_language_needs_no_word(cache: Path, tmp_path: Path) -> None:
    made = fetch_emoji("fr", tmp_path / "emoji", cache=cache)
    assert load_corpus(DataSettings(corpus=str(made.folder))).train[0].source == "google/1f600.png"


@pytest.mark.parametrize(("languages", "message"), [("en,it", "no 'it'"), ("", "names none"), ("en", "exists already")])
def test_what_is_refused(cache: Path, tmp_path: Path, languages: str, message: str) -> None:
    folder = tmp_path / "emoji"
    if message == "exists already":
        folder.mkdir()
    with pytest.raises(UserError, match=message):
        fetch_emoji(languages, folder, cache=cache)
    assert message == "exists already" or not folder.exists()


def test_a_damaged_archive_is_named(cache: Path, tmp_path: Path) -> None:
    path = cache / "emoji" / "emoji-datasource-twitter.tgz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match=r"emoji-datasource-twitter\.tgz is damaged"):
        fetch_emoji("en", tmp_path / "emoji", cache=cache)


def test_a_package_is_kept_only_if_its_checksum_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive({"a.txt": b"hello"})
    right = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    answer = {"version": "3", "license": "MIT", "dist": {"tarball": "https://x/y.tgz", "integrity": right}}
    monkeypatch.setattr(npm, "_get", lambda address: data if address.endswith(".tgz") else json.dumps(answer).encode())
    found = npm.package("thing", tmp_path / "shelf", lambda _: None)
    assert (found.version, found.licence) == ("3", "MIT")
    assert list(npm.members(found, ("a",))) == [("a.txt", b"hello")]
    answer["dist"]["integrity"] = "sha512-wrong"
    with pytest.raises(UserError, match="the checksum of the download is wrong"):
        npm.package("other", tmp_path / "shelf", lambda _: None)
    assert not (tmp_path / "shelf" / "other.tgz").exists()


def test_no_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/")
    with pytest.raises(UserError, match=r"http://127.0.0.1:9/thing/latest cannot be fetched .*check the network"):
        npm.package("thing", tmp_path, lambda _: None)
