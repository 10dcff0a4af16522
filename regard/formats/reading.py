"""Which format a file has, and its units."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from regard.errors import UserError
from regard.formats.android import read_android
from regard.formats.apple_strings import read_apple_strings
from regard.formats.csv_table import read_csv
from regard.formats.folder import group_by_language
from regard.formats.json_texts import read_json
from regard.formats.one_language import by_key
from regard.formats.po import po_file, read_po
from regard.formats.properties import properties_file, read_properties
from regard.formats.qt import read_qt
from regard.formats.stringsdict import read_stringsdict
from regard.formats.text_file import bom_encoding, read_bytes, text_file
from regard.formats.tmx import read_tmx
from regard.formats.unit import LanguagePair, LeftOut, Unit
from regard.formats.xcstrings import read_xcstrings
from regard.formats.xliff1 import read_xliff1
from regard.formats.xliff2 import read_xliff2
from regard.formats.xliff2_elements import CORE
from regard.formats.xliff2_rules import checked
from regard.formats.xlsx import read_xlsx
from regard.formats.xml_events import XmlFile

FormatName = Literal[
    "tmx", "xliff", "po", "qt", "android", "strings", "stringsdict", "xcstrings", "properties", "json", "csv", "xlsx"
]
_ENDINGS: dict[str, FormatName] = {
    "tmx": "tmx",
    "xlf": "xliff",
    "xliff": "xliff",
    "po": "po",
    "pot": "po",
    "ts": "qt",
    "xml": "android",
    "strings": "strings",
    "stringsdict": "stringsdict",
    "xcstrings": "xcstrings",
    "properties": "properties",
    "json": "json",
    "arb": "json",
    "csv": "csv",
    "xlsx": "xlsx",
}
ENDINGS = tuple(f".{ending}" for ending in _ENDINGS)
_XML = ("tmx", "xliff", "qt", "android", "stringsdict")
ONE_LANGUAGE = ("android", "strings", "stringsdict", "properties", "json")


def format_of(path: str | Path) -> FormatName | None:
    """By the file's name, .gz allowed; None where it is none of the translators' formats."""
    return _ENDINGS.get(Path(path).name.lower().removesuffix(".gz").rpartition(".")[2])


def is_one_language(path: str | Path) -> bool:
    """Files of this format hold the texts of one language."""
    return format_of(path) in ONE_LANGUAGE


def read_units(path: str | Path, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """The units of a file in one of the formats, and what is left out. TMX, XLIFF, TS and CSV take constant memory.

    Units of a file of one language have no target.
    """
    kind = format_of(path)
    assert kind is not None
    if kind == "xlsx":
        yield from read_xlsx(Path(path), languages)
    elif kind in _XML or kind == "csv":
        try:
            with Path(path).open("rb") as stream:
                yield from _stream_units(kind, path, stream, languages)
        except OSError as error:
            raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None
    else:
        yield from _text_units(kind, path, read_bytes(path), languages)


def _stream_units(
    kind: FormatName, path: str | Path, stream: io.BufferedReader, languages: LanguagePair
) -> Iterator[Unit | LeftOut]:
    if kind == "csv":
        yield from read_csv(str(path), csv_lines(path, stream), languages)
        return
    xml = XmlFile(path, stream)
    match kind:
        case "tmx":
            yield from read_tmx(xml, languages)
        case "xliff":
            yield from read_xliff(xml, languages)
        case "qt":
            yield from read_qt(xml)
        case "android":
            yield from read_android(xml)
        case _:
            yield from read_stringsdict(xml)


def _text_units(kind: FormatName, path: str | Path, data: bytes, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    match kind:
        case "po":
            yield from read_po(po_file(path, data))
        case "strings":
            yield from read_apple_strings(text_file(path, data))
        case "xcstrings":
            yield from read_xcstrings(text_file(path, data), languages)
        case "properties":
            yield from read_properties(properties_file(path, data))
        case _:
            yield from read_json(text_file(path, data))


def csv_lines(path: str | Path, stream: io.BufferedReader) -> Iterator[str]:
    """Lines with their ends."""
    encoding = bom_encoding(stream.peek(4)[:4]) or "utf-8"
    number = 0
    try:
        for line in io.TextIOWrapper(stream, encoding, newline=""):
            number += 1
            yield line
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02X}"
        raise UserError(f"{path}: after line {number}: {byte} is not {encoding}; convert the file to UTF-8") from None


def read_xliff(xml: XmlFile, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "xliff":
        raise UserError(f"{xml.path}: no <xliff> at its start; is it an XLIFF file?")
    version = root.attributes.get("version", "")
    if version.startswith("1."):
        return read_xliff1(xml, events, languages)
    if CORE.fullmatch(root.namespace):
        return read_xliff2(xml, checked(xml, events, root), root, languages)
    raise xml.error(
        root, f"XLIFF version {version!r} with namespace {root.namespace!r}; 1.2, 2.0, 2.1 and 2.2 are read"
    )


def is_other_file(path: Path) -> bool:
    """XML that holds no Android resources, and TypeScript: they share their endings with translators' files."""
    root = {"android": b"<resources", "qt": b"<TS"}.get(format_of(path) or "")
    if root is None or str(path).lower().endswith(".gz"):
        return False
    try:
        with path.open("rb") as stream:
            head = stream.read(4096).replace(b"\0", b"")  # of UTF-16, too
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None
    return root not in head


def read_pair(source: Path, target: Path) -> Iterator[Unit | LeftOut]:
    """Two files of one language each, of the same format: the texts with the same key."""
    nothing = LanguagePair()
    return by_key(list(read_units(source, nothing)), list(read_units(target, nothing)))


def read_folder(folder: Path, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """All translators' files of a folder and its folders: those of two languages, and pairs of those of one."""
    files = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and format_of(path) is not None:
            if is_other_file(path):
                yield LeftOut(f"{path}:1", "a file of another kind")
            else:
                files.append(path)
    single = [path for path in files if is_one_language(path)]
    if single and (languages.source is None or languages.target is None):
        raise UserError(
            f"{folder}: {single[0].relative_to(folder)} and others are of one language each; "
            "choose with --data.source-language en --data.target-language fr"
        )
    for path in files:
        if path not in single:
            yield from read_units(path, languages)
    grouped = group_by_language(folder, single, languages)
    for source, target in grouped.pairs:
        yield from read_pair(source, target)
    for path in grouped.alone:
        yield LeftOut(f"{path}:1", "a file without its counterpart in the other language")


def languages_of(path: str | Path) -> tuple[str, str]:
    """Source and target that a file names; "" where it does not."""
    kind = format_of(path)
    if kind == "po":
        file = po_file(path, read_bytes(path))
        first = next((line for line in file.text.splitlines() if line.startswith('"Language:')), "")
        return "", first.removeprefix('"Language:').removesuffix('"').removesuffix("\\n").strip()
    if kind not in ("xliff", "qt"):
        return "", ""
    with Path(path).open("rb") as stream:
        starts = (event for event in XmlFile(path, stream).events() if event.kind == "start")
        for event in itertools.islice(starts, 2):
            for source, target in (("srcLang", "trgLang"), ("source-language", "target-language")):
                if source in event.attributes:
                    return event.attributes[source], event.attributes.get(target, "")
            if event.name == "TS":
                return event.attributes.get("sourcelanguage", ""), event.attributes.get("language", "")
    return "", ""


def read_target_file(path: Path, output: Path, languages: LanguagePair) -> list[Unit | LeftOut]:
    """The units of a file that is to be filled. A file of one language gets the targets that the output has already."""
    units = list(read_units(path, languages))
    if is_one_language(path) and output.exists() and not output.samefile(path):
        there = by_key(units, list(read_units(output, languages)))
        missing = "a plural form that the source file does not have"
        return [unit if isinstance(unit, LeftOut) or unit.spans else LeftOut(unit.place, missing) for unit in there]
    return units


def check_can_be_filled(path: str | Path) -> None:
    """Refuse a file whose format is only read."""
    kind = format_of(path)
    if kind is None:
        raise UserError(f"{path}: not a translators' file")
    if kind == "xlsx":
        raise UserError(f"{path}: spreadsheets are only read; save it as CSV")
    if str(path).lower().endswith(".gz"):
        raise UserError(f"{path}: a zipped file is only read; unzip it")
