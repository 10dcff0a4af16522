"""The Home Assistant corpus, made from tiny wheels instead of the registry."""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.fetch import fetch_home_assistant
from regard.data.fetch.home_assistant import align, unclean
from regard.data.fetch.wheels import wheels
from regard.errors import UserError

HASH = "0123456789abcdef" * 2


def wheel(folder: Path, name: str, files: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(
            f"{name}-1.2.dist-info/METADATA", f"Name: {name}\nVersion: 1.2\nLicense-Expression: Apache-2.0\n"
        )
        archive.writestr(f"{name}/evil.py", "raise SystemExit")
        for path, content in files.items():
            archive.writestr(path, json.dumps(content))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    core: dict[str, object] = {}
    for group in range(30):
        for language, word in (("en", "Door"), ("fr", "Porte"), ("pt-BR", "Porta")):
            texts = {
                f"k{n}": f"{word} {n} of {group}" if language == "en" else f"{word} {group}/{n}" for n in range(10)
            }
            path = f"homeassistant/components/g{group}/translations/{language}.json"
            core[path] = {"config": texts | {"name": {"en": "Name", "fr": "Nom", "pt-BR": "Nome"}[language]}}
    front = "hass_frontend/static/translations"
    wheel(tmp_path / "cache/home-assistant", "homeassistant", core)
    frontend = {
        f"{front}/config/{language}-{HASH}.json": {
            "ui.panel.config.zone.title": text,
            "ui.panel.config.zone.same": "Wi-Fi",
        }
        for language, text in (("en", "A\n zone"), ("fr", "Une zone"), ("pt-BR", "Uma zona"))
    }
    wheel(tmp_path / "cache/home-assistant", "home_assistant_frontend", frontend)
    return tmp_path / "cache"


def test_folder_is_a_corpus(cache: Path, tmp_path: Path) -> None:
    said: list[str] = []
    made = fetch_home_assistant("en-fr", tmp_path / "out" / "ha", said.append, cache)
    corpus = load_corpus(DataSettings(corpus=str(made.folder)))
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (made.train, made.dev, made.test)
    assert made.train + made.dev + made.test == 30 * 10 + 2  # one "Name" and the zone; 29 names repeat
    assert made.dropped["a repeated pair"] == 29
    assert made.dropped["the same on both sides"] == 1
    assert Example("A zone", "Une zone") in [*corpus.train, *corpus.dev, *corpus.test]
    groups = {split: {e.source.split(" of ")[-1] for e in rows} for split, rows in corpus.splits().items()}
    assert not groups["train"] & groups["dev"]
    assert not groups["train"] & groups["test"]
    assert corpus.languages == ("en", "fr")
    readme = (made.folder / "README.md").read_text()
    assert "Apache-2.0" in readme
    assert "homeassistant 1.2" in readme
    assert sorted(path.name for path in made.folder.parent.iterdir()) == ["ha"]
    assert said


def test_languages_with_a_hyphen_and_the_same_groups_held_out(cache: Path, tmp_path: Path) -> None:
    fetch_home_assistant("en-fr", tmp_path / "fr", cache=cache)
    fetch_home_assistant("en-pt-BR", tmp_path / "pt", cache=cache)
    sources = [{e.source for e in load_corpus(DataSettings(corpus=str(tmp_path / name))).test} for name in ("fr", "pt")]
    assert sources[0] == sources[1]


def test_mistakes(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for pair, folder, message in (
        ("en-frr", "x", "no language 'frr', did you mean 'fr'.; there are 3: en, fr, pt-BR"),
        ("en-en", "x", "names one language twice"),
        ("en", "x", "not a pair"),
        ("en-fr", "there", "exists already"),
    ):
        with pytest.raises(UserError, match=message):
            fetch_home_assistant(pair, tmp_path / folder, cache=cache)
    assert not (tmp_path / "x").exists()
    (cache / "home-assistant" / "homeassistant-1.2-py3-none-any.whl").write_bytes(b"cut off")
    with pytest.raises(UserError, match="damaged"):
        fetch_home_assistant("en-fr", tmp_path / "x", cache=cache)


def test_unreachable_registry_shows_pips_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'WARNING: Retrying' >&2\necho 'ERROR: No matching distribution' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(
        UserError, match=r"pip could not download .*: ERROR: No matching distribution; check the network"
    ):
        wheels(("homeassistant",), tmp_path / "cache", lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["python"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip is not installed"):
        wheels(("homeassistant",), tmp_path / "cache", lambda _: None)


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        ("Open the door", "Ouvrez la porte", None),
        ("{count, plural, one {day} other {days}}", "{count, plural, one {jour} other {jours}}", None),
        ("Hello {name}", "Bonjour {nom}", "different placeholders"),
        ("", "Rien", "an empty side"),
        ("%", "pour cent", "no letters"),
        ("Home", "Home", "the same on both sides"),
        ("[%key:common::x%]", "Nom", "a reference to another text"),
    ],
)
def test_cleaning(source: str, target: str, why: str | None) -> None:
    assert unclean(Example(source, target)) == why


def test_missing_translations_are_counted() -> None:
    dropped: Counter[str] = Counter()
    groups = align({"g": {"a": "One", "b": "Two"}}, {"g": {"a": "Un"}, "h": {"b": "Deux"}}, dropped)
    assert groups == {"g": [Example("One", "Un")]}
    assert dropped == {"not translated": 1}
