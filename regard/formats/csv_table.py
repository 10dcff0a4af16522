"""Tables with a header: CSV, its delimiter and quoting found out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.errors import UserError
from regard.formats.unit import FileSpan, Filling, LanguagePair, LeftOut, Splice, Unit, UnitState, is_variant

DELIMITERS = ",;\t|"
SOURCES = ("source", "source text", "source_text", "src", "original")
TARGETS = ("target", "translation", "target text", "target_text", "tgt", "trg")
KEYS = ("id", "key", "identifier", "resname")
CONTEXTS = ("context", "msgctxt")
NOTES = ("developer_comments", "translator_comments", "comment", "comments", "notes", "note")
FUZZY = ("fuzzy",)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class TableCell:
    """Its text, and where it stands with its quotes."""

    text: str
    span: FileSpan


@dataclass(frozen=True)
class TableRow:
    cells: tuple[TableCell, ...]
    line: int


@dataclass(frozen=True)
class TableColumns:
    """Which column holds what; None: none does."""

    source: int
    target: int
    key: int | None
    context: int | None
    note: int | None
    fuzzy: int | None
    languages: str


def read_csv(path: str, lines: Iterable[str], languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """A unit for each record after the header. `lines`: with their ends."""
    remaining = iter(lines)
    first = next(remaining, "")
    delimiter = delimiter_of(path, first, languages)
    records = csv_records(path, _with(first, remaining), delimiter)
    header = next(records)
    columns = find_columns(path, [cell.text for cell in header.cells], languages)
    for record in records:
        if not any(cell.text.strip() for cell in record.cells):
            continue
        yield table_unit(path, record, columns, len(header.cells))


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def table_unit(path: str, record: TableRow, columns: TableColumns, width: int) -> Unit | LeftOut:
    place = f"{path}:{record.line}"
    if len(record.cells) > width or len(record.cells) <= max(columns.source, columns.target):
        return LeftOut(place, f"{len(record.cells)} columns, and the header has {width}")
    cells = [cell.text for cell in record.cells]
    target = cells[columns.target]
    fuzzy = columns.fuzzy is not None and _at(cells, columns.fuzzy).strip().lower() in ("true", "yes", "1", "x")
    state: UnitState = "untranslated" if not target.strip() else "fuzzy" if fuzzy else "translated"
    spans = {"target": record.cells[columns.target].span}
    if columns.fuzzy is not None and columns.fuzzy < len(cells):
        spans["fuzzy"] = record.cells[columns.fuzzy].span
    return Unit(
        key=_at(cells, columns.key) or f"{record.line}",
        source=cells[columns.source],
        target=target,
        state=state,
        place=place,
        context=_at(cells, columns.context),
        notes=(_at(cells, columns.note),) if _at(cells, columns.note) else (),
        languages=columns.languages,
        spans=spans,
    )


def _at(cells: Sequence[str], column: int | None) -> str:
    return cells[column] if column is not None and column < len(cells) else ""


def delimiter_of(path: str, header: str, languages: LanguagePair) -> str:
    """The one that splits the header into the most columns, source and target among them."""
    best, most = "", 0
    for delimiter in DELIMITERS:
        try:
            cells = next(csv_records(path, [header], delimiter)).cells
            find_columns(path, [cell.text for cell in cells], languages)
        except (UserError, StopIteration):
            continue
        if len(cells) > most:
            best, most = delimiter, len(cells)
    if not best:
        shown = header.strip().lstrip("\ufeff")[:80]
        raise UserError(
            f"{path}:1: no columns for source and target in the header {shown!r}; name them source and target, or by "
            "language with --data.source-language en --data.target-language fr"
        )
    return best


def find_columns(path: str, names: Sequence[str], languages: LanguagePair) -> TableColumns:
    """By the languages that are wanted, by the usual names, or the only two languages there are."""
    plain = [name.strip().lstrip("\ufeff").strip().lower() for name in names]
    known = (*SOURCES, *TARGETS, *KEYS, *CONTEXTS, *NOTES, *FUZZY)
    coded = [index for index, name in enumerate(plain) if _LANGUAGE.fullmatch(name) and name not in known]
    source = _column(plain, languages.source, SOURCES)
    target = _column(plain, languages.target, TARGETS)
    if source is None and target is None and len(coded) == 2:
        source, target = coded
    if source is None or target is None or source == target:
        raise UserError(f"{path}: no columns for source and target among {', '.join(names)}")
    named = f"{names[source].strip()} {names[target].strip()}" if {source, target} <= set(coded) else ""
    first = [_column(plain, None, usual) for usual in (KEYS, CONTEXTS, NOTES, FUZZY)]
    return TableColumns(source, target, *first, languages=named)


def _column(names: Sequence[str], language: str | None, usual: Sequence[str]) -> int | None:
    if language is not None:
        fitting = [index for index, name in enumerate(names) if is_variant(name, language)]
        if fitting:
            return min(fitting, key=lambda index: len(names[index]))
    return next((index for name in usual for index, given in enumerate(names) if given == name), None)


def csv_records(path: str, lines: Iterable[str], delimiter: str) -> Iterator[TableRow]:
    """RFC 4180, with any delimiter and line end: a record goes on over lines while a quote is open."""
    text, start, line = "", 0, 1
    for number, more in enumerate(lines, start=1):
        is_open = bool(text)
        if not is_open:
            line = number
        text += more
        cells = None if is_open and '"' not in more else _cells(text, start, delimiter)
        if cells is not None:
            yield TableRow(cells, line)
            start += len(text)
            text = ""
    if text:
        raise UserError(f"{path}:{line}: a quote is opened and never closed; close it")


def _cells(text: str, offset: int, delimiter: str) -> tuple[TableCell, ...] | None:
    """The cells of a record; None where a quote is still open."""
    other = rf"[^{re.escape(delimiter)}\r\n]*"
    quoted, plain = re.compile(rf'"((?:[^"]|"")*)"(?!")({other})'), re.compile(other)
    cells: list[TableCell] = []
    position = len(text) - len(text.lstrip("\ufeff"))
    while True:
        is_quoted = text.startswith('"', position)
        match = (quoted if is_quoted else plain).match(text, position)
        if match is None:
            return None
        value = match.group(1).replace('""', '"') + match.group(2) if is_quoted else match.group()
        cells.append(TableCell(value, FileSpan(offset + position, offset + match.end())))
        position = match.end()
        if not text.startswith(delimiter, position):
            return tuple(cells)
        position += 1


def csv_splices(text: str, fillings: Sequence[Filling], delimiter: str) -> list[Splice]:
    """Cells, quoted where they were or must be; the column fuzzy, where there is one."""
    splices = []
    for filling in fillings:
        span = filling.unit.spans["target"]
        splices.append(Splice(span, csv_cell(filling.target, delimiter, text[span.start : span.end])))
        if "fuzzy" in filling.unit.spans:
            place = filling.unit.spans["fuzzy"]
            flag = str(filling.review)
            splices.append(Splice(place, csv_cell(flag, delimiter, text[place.start : place.end])))
    return splices


def csv_cell(text: str, delimiter: str, before: str) -> str:
    must = any(mark in text for mark in ('"', delimiter, "\n", "\r")) or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if must or before.startswith('"') else text
