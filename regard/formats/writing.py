"""A file with targets filled in: the same bytes outside of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from regard.errors import UserError
from regard.formats.android import android_splices
from regard.formats.apple_strings import apple_content
from regard.formats.csv_table import csv_splices, delimiter_of
from regard.formats.json_strings import json_string
from regard.formats.po import po_file, po_splices
from regard.formats.properties import properties_content, properties_file
from regard.formats.qt import qt_splices
from regard.formats.reading import format_of
from regard.formats.tags import with_native
from regard.formats.text_file import TextFile, read_bytes, text_file
from regard.formats.tmx import tmx_splices
from regard.formats.unit import Filling, LanguagePair, Splice, spliced, spliced_bytes
from regard.formats.xcstrings import xcstrings_splices
from regard.formats.xliff1 import xliff1_splices
from regard.formats.xliff2 import xliff2_splices
from regard.formats.xml_events import xml_encoding, xml_text


def filled(path: str | Path, fillings: Sequence[Filling], languages: LanguagePair) -> bytes:
    """The file's bytes with these targets in their places. The fillings are of units that were read from it."""
    data = read_bytes(path)
    if format_of(path) in ("tmx", "xliff", "qt", "android", "stringsdict"):
        return _filled_xml(path, data, fillings, languages)
    match format_of(path):
        case "po":
            file = po_file(path, data)
            splices = po_splices(file, fillings)
        case "properties":
            file = properties_file(path, data)
            splices = _texts(fillings, partial(properties_content, encoding=file.encoding))
        case "csv":
            file = text_file(path, data)
            header = file.text.partition("\n")[0]
            splices = csv_splices(file.text, fillings, delimiter_of(str(path), header, languages)) if fillings else []
        case "xcstrings":
            file = text_file(path, data)
            splices = xcstrings_splices(file, fillings, languages)
        case "json":
            file = text_file(path, data)
            splices = _texts(fillings, json_string)
        case _:
            file = text_file(path, data)
            splices = _texts(fillings, apple_content)
    return _encoded(file, splices)


def _encoded(file: TextFile, splices: Sequence[Splice]) -> bytes:
    return file.encode(spliced(file.text, splices))


def _filled_xml(path: str | Path, data: bytes, fillings: Sequence[Filling], languages: LanguagePair) -> bytes:
    encoding = xml_encoding(data[:1024], str(path))
    content = data.decode(encoding).encode("utf-8")
    if content.decode("utf-8").encode(encoding) != data:
        raise UserError(f"{path}: its {encoding} cannot be written back as it is; convert it to UTF-8")
    match format_of(path):
        case "tmx":
            splices = tmx_splices(fillings, languages)
        case "qt":
            splices = qt_splices(content, fillings)
        case "android":
            splices = android_splices(fillings)
        case "stringsdict":
            splices = _texts(fillings, xml_text)
        case _ if b"urn:oasis:names:tc:xliff:document:2." in content:
            splices = xliff2_splices(content, fillings, languages)
        case _:
            splices = xliff1_splices(content, fillings, languages)
    # A letter that the encoding has not becomes a character reference.
    return spliced_bytes(content, splices).decode("utf-8").encode(encoding, "xmlcharrefreplace")


def _texts(fillings: Sequence[Filling], escape: Callable[[str], str]) -> list[Splice]:
    """The texts of a file of one language."""
    return [Splice(f.unit.spans["text"], with_native(f.target, f.unit, escape)) for f in fillings]
