"""Folders: which file is the translation of which."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.formats.folder import group_by_language
from regard.formats.unit import LanguagePair


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("en.json", "fr.json"),
        ("locales/en/app.json", "locales/fr-CA/app.json"),
        ("res/values/strings.xml", "res/values-fr/strings.xml"),
        ("res/values/strings.xml", "res/values-fr-rCA/strings.xml"),
        ("Base.lproj/a.strings", "fr.lproj/a.strings"),
        ("en-US.lproj/a.strings", "fr.lproj/a.strings"),
        ("messages.properties", "messages_fr.properties"),
        ("messages_en.properties", "messages_fr.properties"),
        ("en/en.json", "fr/fr.json"),
    ],
)
def test_counterparts(tmp_path: Path, source: str, target: str) -> None:
    others = ["res/values-de/strings.xml", "fresh.json", "locales/de/app.json"]
    paths = [tmp_path / name for name in (source, target, *others)]
    grouped = group_by_language(tmp_path, paths, LanguagePair("en", "fr"))
    assert grouped.pairs == ((tmp_path / source, tmp_path / target),)
    assert set(grouped.alone) == {tmp_path / name for name in others}
