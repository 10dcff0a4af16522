"""XML: encodings, what is refused, constant memory, changed attributes."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.formats.reading import read_units
from regard.formats.unit import LanguagePair
from regard.formats.xml_events import LONGEST_TAG, XmlFile, remove_attribute, set_attribute


def events(data: bytes) -> list[tuple[str, str, int, int]]:
    xml = XmlFile("a.xml", io.BytesIO(data))
    return [(event.kind, event.name or event.text, event.start, event.end) for event in xml.events()]


def test_events_know_where_they_stand() -> None:
    assert events(b"<a x='1'>b&amp;<c/></a >") == [
        ("start", "a", 0, 9),
        ("text", "b", 9, 10),
        ("text", "&", 10, 15),
        ("start", "c", 15, 19),
        ("end", "c", 19, 19),
        ("end", "a", 19, 24),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1", "shift_jis"])
def test_encodings_are_honoured(encoding: str) -> None:
    name = "utf-8" if encoding == "utf-8-sig" else encoding.removesuffix("-be")
    letter = "日" if encoding == "shift_jis" else "é"
    data = f"<?xml version='1.0' encoding='{name}'?>\n<a>{letter}</a>".encode(encoding)
    assert ("text", letter) in [event[:2] for event in events(data)]
    assert events(gzip.compress(data)) == events(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a>\n<b></a>", "a.xml:2: broken XML: mismatched tag"),
        (b"<a>", "broken XML: no element found"),
        (b"", "broken XML: no element found"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "a.xml:1: the encoding 'klingon' is not known"),
        (b"<?xml version='1.0' encoding='utf-16'?><a/>", "a.xml:1: it says it is utf-16, and its bytes are not"),
        ("<a>é</a>".encode("latin-1"), "not utf-8, as it says it is"),
        (b"<!DOCTYPE a [\n<!ENTITY b 'bb'>]><a>&b;</a>", "a.xml:2: it declares the entity 'b'"),
        (b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>", "it declares the entity 'x'"),
        (b"<!DOCTYPE a SYSTEM 'a.dtd'><a>&b;</a>", "&b; is not defined"),
        (b"<a>&b;</a>", "broken XML: undefined entity"),
        (gzip.compress(b"<a>" * 9999, mtime=0)[:-9], "damaged gzip"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(UserError) as error:
        events(data)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_endless_tag_is_refused_before_it_is_read() -> None:
    class Endless(io.RawIOBase):
        read_bytes = 0

        def read(self, size: int = -1) -> bytes:
            self.read_bytes += size
            return b'<a b="'.ljust(size, b"x") if self.read_bytes == size else b"x" * size

    stream = Endless()
    with pytest.raises(UserError, match="a tag or comment of more than 16 MB"):
        list(XmlFile("a.xml", stream).events())  # type: ignore[arg-type]
    assert stream.read_bytes < 2 * LONGEST_TAG


def test_a_large_memory_is_read_in_constant_memory(tmp_path: Path) -> None:
    unit = "<tu><tuv xml:lang='en'><seg>A text {}</seg></tuv><tuv xml:lang='fr'><seg>Un texte</seg></tuv></tu>\n"
    path = tmp_path / "a.tmx"

    def lines(count: int) -> Iterator[str]:
        yield '<tmx version="1.4"><header srclang="en"/><body>'
        yield from (unit.format(number) for number in range(count))
        yield "</body></tmx>"

    peaks = []
    for count in (2_000, 20_000):
        with path.open("w") as file:
            file.writelines(lines(count))
        tracemalloc.start()
        assert sum(1 for _ in read_units(path, LanguagePair())) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_attributes_are_changed_in_place() -> None:
    assert set_attribute("<a  b='1'\n c=\"2\"/>", "b", 'x"') == '<a  b="x&quot;"\n c="2"/>'
    assert set_attribute("<a />", "xml:lang", "fr") == '<a xml:lang="fr" />'
    assert remove_attribute("<a b='1' c='2'>", "b") == "<a c='2'>"
