"""Every format: nothing filled, nothing changed; filled units are read back; only targets change."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import BILINGUAL, EN_FR, SAMPLES, fill_all, units_of

from regard.formats.tags import CANONICAL
from regard.formats.unit import FileSpan, Filling, Splice, Unit, spliced, spliced_bytes
from regard.formats.writing import filled


def shout(unit: Unit) -> str:
    """A translation: the text in capitals, the tags where they are."""
    parts, position = [], 0
    for match in CANONICAL.finditer(unit.source):
        if match.group() in unit.native:
            parts += [unit.source[position : match.start()].upper(), match.group()]
            position = match.end()
    return "".join([*parts, unit.source[position:].upper()])


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_nothing_filled_nothing_changed(tmp_path: Path, name: str, encoding: str, newline: str) -> None:
    if encoding == "utf-16" and name.endswith((".po", ".properties")):
        pytest.skip("the format has no UTF-16")
    path = tmp_path / name
    text = re.sub("encoding=(['\"]).*?['\"]", f'encoding="{encoding.removesuffix("-sig")}"', SAMPLES[name], count=1)
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    assert filled(path, [], EN_FR) == path.read_bytes()
    assert len(units_of(path)) == len(units_of(write(tmp_path, name)))


@pytest.mark.parametrize("name", BILINGUAL)
def test_filled_units_are_read_back(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    before = units_of(path)
    path.write_bytes(fill_all(path, shout))
    after = units_of(path)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert new.source == old.source and new.key == old.key
        if old.state == "untranslated":
            assert new.target == shout(old)
            assert new.state == "fuzzy" or name.endswith(".tmx")
        else:
            assert (new.target, new.state) == (old.target, old.state)


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(BILINGUAL)))
def test_files_of_one_language_become_those_of_the_other(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    before = units_of(path)
    path.write_bytes(fill_all(path, shout))
    for old, new in zip(before, units_of(path), strict=True):
        assert (new.key, new.plural, new.state) == (old.key, old.plural, old.state)
        assert new.source == (old.source if old.state == "protected" else shout(old))


@pytest.mark.parametrize("name", BILINGUAL)
def test_filling_twice_gives_the_same_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    once = fill_all(path, shout)
    path.write_bytes(once)
    again = [
        Filling(unit, unit.target, "machine", review=True, note="regard: machine translation")
        for unit in units_of(path)
        if unit.state == "fuzzy" and unit.target.isupper()
    ]
    assert filled(path, again, EN_FR) == once


def write(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text(SAMPLES[name], encoding="utf-8", newline="\n")
    return path


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")))
def test_any_text_survives(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            path = write(Path(folder), name)
            tags = {unit.key + unit.plural: "".join(unit.native) for unit in units_of(path)}
            wanted = text if text.strip() else "x"
            path.write_bytes(
                fill_all(path, lambda unit, tags=tags, wanted=wanted: wanted + tags[unit.key + unit.plural])
            )
            texts = [(unit.target if name in BILINGUAL else unit.source, unit) for unit in units_of(path)]
            new = [(text, unit) for text, unit in texts if text.startswith(wanted)]
            assert len(new) >= (2 if name != "a.tmx" else 1), name
            assert all(text.removeprefix(wanted) == "".join(unit.native) for text, unit in new), name


def test_splices() -> None:
    splices = [
        Splice(FileSpan(2, 2), "B"),
        Splice(FileSpan(0, 1), "A"),
        Splice(FileSpan(2, 2), "C"),
        Splice(FileSpan(2, 2), "B"),
    ]
    assert spliced("abcd", splices) == "AbBCcd"
    assert spliced_bytes("äbc".encode(), [Splice(FileSpan(2, 3), "é")]) == "äéc".encode()
