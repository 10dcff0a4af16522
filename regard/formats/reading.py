"""Which format a file has, and its units."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from regard.errors import UserError
from regard.formats.po import po_file, read_po
from regard.formats.text_file import read_bytes
from regard.formats.tmx import read_tmx
from regard.formats.unit import LanguagePair, LeftOut, Unit
from regard.formats.xliff1 import read_xliff1
from regard.formats.xliff2 import CORE, read_xliff2
from regard.formats.xml_events import XmlFile

FormatName = Literal["tmx", "xliff", "po"]
_ENDINGS: dict[str, FormatName] = {"tmx": "tmx", "xlf": "xliff", "xliff": "xliff", "po": "po", "pot": "po"}


def format_of(path: str | Path) -> FormatName | None:
    """By the file's name, .gz allowed; None where it is none of the translators' formats."""
    return _ENDINGS.get(Path(path).name.lower().removesuffix(".gz").rpartition(".")[2])


def read_units(path: str | Path, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """The units of a file in one of the formats, and what is left out. TMX and XLIFF take constant memory."""
    kind = format_of(path)
    if kind in ("tmx", "xliff"):
        try:
            with Path(path).open("rb") as stream:
                xml = XmlFile(path, stream)
                yield from read_tmx(xml, languages) if kind == "tmx" else read_xliff(xml, languages)
        except OSError as error:
            raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None
    else:
        assert kind == "po"
        yield from read_po(po_file(path, read_bytes(path)))


def read_xliff(xml: XmlFile, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "xliff":
        raise UserError(f"{xml.path}: no <xliff> at its start; is it an XLIFF file?")
    version = root.attributes.get("version", "")
    if version == "1.2" or version.startswith("1."):
        return read_xliff1(xml, events, languages)
    if CORE.fullmatch(root.namespace):
        return read_xliff2(xml, events, root, languages)
    raise xml.error(
        root, f"XLIFF version {version!r} with namespace {root.namespace!r}; 1.2, 2.0, 2.1 and 2.2 are read"
    )


def languages_of(path: str | Path) -> tuple[str, str]:
    """Source and target that an XLIFF or PO file names; "" where it does not."""
    if format_of(path) == "po":
        file = po_file(path, read_bytes(path))
        first = next((line for line in file.text.splitlines() if line.startswith('"Language:')), "")
        return "", first.removeprefix('"Language:').removesuffix('\\n"').strip()
    with Path(path).open("rb") as stream:
        xml = XmlFile(path, stream)
        starts = (event for event in xml.events() if event.kind == "start")
        for event in itertools.islice(starts, 2):
            for names in (("srcLang", "trgLang"), ("source-language", "target-language")):
                if names[0] in event.attributes:
                    return event.attributes[names[0]], event.attributes.get(names[1], "")
    return "", ""


def read_target_file(path: Path, output: Path, languages: LanguagePair) -> list[Unit | LeftOut]:
    """The units of a file that is to be filled."""
    return list(read_units(path, languages))


def check_can_be_filled(path: str | Path) -> None:
    """Refuse a file whose format is only read."""
    if format_of(path) is None:
        raise UserError(f"{path}: not a translators' file")
    if str(path).lower().endswith(".gz"):
        raise UserError(f"{path}: a zipped file is only read; unzip it")
