"""A file with targets filled in: the same bytes outside of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.errors import UserError
from regard.formats.po import po_file, po_splices
from regard.formats.reading import format_of
from regard.formats.text_file import read_bytes
from regard.formats.tmx import tmx_splices
from regard.formats.unit import Filling, LanguagePair, spliced, spliced_bytes
from regard.formats.xliff1 import xliff1_splices
from regard.formats.xliff2 import xliff2_splices
from regard.formats.xml_events import xml_encoding


def filled(path: str | Path, fillings: Sequence[Filling], languages: LanguagePair) -> bytes:
    """The file's bytes with these targets in their places. The fillings are of units that were read from it."""
    data = read_bytes(path)
    if format_of(path) == "po":
        file = po_file(path, data)
        return file.encode(spliced(file.text, po_splices(file, fillings)))
    encoding = xml_encoding(data[:1024], str(path))
    content = data.decode(encoding).encode("utf-8")
    if content.decode("utf-8").encode(encoding) != data:
        raise UserError(f"{path}: its {encoding} cannot be written back as it is; convert it to UTF-8")
    if format_of(path) == "tmx":
        splices = tmx_splices(fillings, languages)
    elif b"urn:oasis:names:tc:xliff:document:2." in content:
        splices = xliff2_splices(content, fillings, languages)
    else:
        splices = xliff1_splices(content, fillings, languages)
    # A letter that the encoding has not becomes a character reference.
    return spliced_bytes(content, splices).decode("utf-8").encode(encoding, "xmlcharrefreplace")
