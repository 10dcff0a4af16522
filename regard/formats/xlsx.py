"""Spreadsheets: pairs from the first sheet of a workbook, by openpyxl."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from regard.errors import UserError
from regard.formats.csv_table import TableCell, TableColumns, TableRow, find_columns, table_unit
from regard.formats.unit import FileSpan, LanguagePair, LeftOut, Unit


def read_xlsx(path: Path, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """The first sheet of a workbook, read row by row."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise UserError(f"{path}: spreadsheets need openpyxl; pip install 'regard[xlsx]'") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UserError(f"{path}: no workbook that can be read: {error}") from None
    sheet = book.worksheets[0]
    columns: TableColumns | None = None
    width = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        texts = ["" if value is None else str(value) for value in row]
        if not any(text.strip() for text in texts):
            continue
        if columns is None:
            columns, width = find_columns(str(path), texts, languages), len(texts)
            continue
        nowhere = FileSpan(0, 0)
        yield table_unit(str(path), TableRow(tuple(TableCell(text, nowhere) for text in texts), number), columns, width)
    book.close()
