"""Tables: delimiters, quotes, columns by name; spreadsheets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import EN_FR, left_out, units_of

from regard.errors import UserError
from regard.formats.csv_table import csv_cell, csv_records
from regard.formats.unit import LanguagePair

cells = st.lists(st.text(st.sampled_from('a,;"\n\r ')), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(st.lists(cells, max_size=4), st.sampled_from(",;\t"), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_records_are_those_of_the_csv_module(rows: list[list[str]], delimiter: str, quoting: int) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, quoting=quoting).writerows(rows)
    text = buffer.getvalue()
    found = list(csv_records("a.csv", io.StringIO(text, newline=""), delimiter))
    assert [[cell.text for cell in record.cells] for record in found] == rows
    for cell in (cell for record in found for cell in record.cells):
        raw = text[cell.span.start : cell.span.end]
        assert (next(csv.reader([raw], delimiter=delimiter), None) or [""]) == [cell.text] or "\n" in raw or "\r" in raw


@given(st.text(st.sampled_from('a,;"\n ')))
def test_cells_are_read_back(text: str) -> None:
    assert next(csv.reader(io.StringIO(csv_cell(text, ",", "")), delimiter=","), [""]) == [text]


@pytest.mark.parametrize(
    ("content", "languages", "expected"),
    [
        ("source,target\na,b\n", EN_FR, ("a", "b", "")),
        ("id\ten_US\tfr-CA\tfr\n1\ta\tb\tc\n", EN_FR, ("a", "c", "en_US fr")),
        ("fr;en\nb;a\n", EN_FR, ("a", "b", "en fr")),
        ("fr;en\nb;a\n", LanguagePair(), ("b", "a", "fr en")),
        ("Source text|x,y|Translation\na||b\n", EN_FR, ("a", "b", "")),
        ("\ufeffsource,target\na,b\n", EN_FR, ("a", "b", "")),
    ],
)
def test_columns_are_found_by_name(
    tmp_path: Path, content: str, languages: LanguagePair, expected: tuple[str, str, str]
) -> None:
    path = tmp_path / "a.csv"
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes(content.removeprefix("\ufeff" if encoding == "utf-16" else "").encode(encoding))
        unit = units_of(path, languages)[0]
        assert (unit.source, unit.target, unit.languages) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "a.csv:1: no columns for source and target in the header 'a,b'"),
        ("", "a.csv:1: no columns"),
        ('source,target\na,"b\n', "a.csv:2: a quote is opened and never closed"),
        (b"source,target\na,\xff\n", "a.csv: after line 0: byte 0xFF is not utf-8"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as error:
        units_of(path)
    assert message in str(error.value)


def test_a_record_of_another_width_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target\na\na,b,c\na,b\n")
    assert [unit.why for unit in left_out(path)] == [
        "1 columns, and the header has 2",
        "3 columns, and the header has 2",
    ]
    assert len(units_of(path)) == 1


def test_spreadsheets(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "en", "fr"], [1, "Two words", "Deux mots"], [2, "To do", None], [None, None, None]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    units = units_of(tmp_path / "a.xlsx")
    assert [(unit.key, unit.source, unit.target, unit.state) for unit in units] == [
        ("1", "Two words", "Deux mots", "translated"),
        ("2", "To do", "", "untranslated"),
    ]
    (tmp_path / "b.xlsx").write_text("no zip")
    with pytest.raises(UserError, match="no workbook that can be read"):
        units_of(tmp_path / "b.xlsx")
