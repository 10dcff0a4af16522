"""PO files: entries, flags, plurals, obsolete ones, charsets; filled ones pass msgfmt."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import PO, fill_all, left_out, units_of

from regard.errors import UserError
from regard.formats.po_strings import quoted, unquoted

HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n"Plural-Forms: nplurals=3; plural=n%3;\\n"\n\n'
)


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "a.po"
    path.write_bytes(text.encode(encoding))
    return path


def test_entries_and_their_states(tmp_path: Path) -> None:
    units = units_of(write(tmp_path, PO))
    assert [(unit.source, unit.target, unit.state, unit.plural) for unit in units] == [
        ("Save", "Enregistrer", "translated", ""),
        ("%d file", "", "untranslated", "0"),
        ("%d files", "", "untranslated", "1"),
        ("Quit now", "Quitter", "fuzzy", ""),
        ('A "quoted"\ttext', "", "untranslated", ""),
        ("Old", "Vieux", "obsolete", ""),
    ]
    assert units[0].context == "menu" and units[0].notes == ("For the button",)
    assert units[1].place.endswith(":15") and units[1].key != units[0].key


def test_filling_changes_targets_flags_and_comments_alone(tmp_path: Path) -> None:
    path = write(tmp_path, PO.replace("\n", "\r\n"))
    written = fill_all(path, lambda unit: f"<{unit.source}>").decode()
    comment = "# regard: machine translation\r\n"
    expected = PO.replace("\n", "\r\n")
    for old, new in (
        ("#, c-format", f"{comment}#, fuzzy, c-format"),
        ('msgstr[0] ""', 'msgstr[0] "<%d file>"'),
        ('msgstr[1] ""', 'msgstr[1] "<%d files>"'),
        ("#: main.c:7\r\n", f"{comment}#: main.c:7\r\n#, fuzzy\r\n"),
        ('text"\r\nmsgstr ""', 'text"\r\nmsgstr "<A \\"quoted\\"\\ttext>"'),
    ):
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert written == expected


def test_missing_plural_forms_are_added(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER.format("UTF-8") + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""')
    written = fill_all(path, lambda unit: unit.source + unit.plural, note="").decode()
    assert written.endswith('#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "b0"\nmsgstr[1] "a1"\nmsgstr[2] "b2"')


def test_without_plural_forms_in_the_header_plurals_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n')
    assert "no Plural-Forms" in left_out(path)[0].why and not units_of(path)


def test_other_charsets(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEADER.format("EUC-JP") + 'msgid "é"\nmsgstr "日本"\n\nmsgid "b"\nmsgstr ""\n'.replace("é", "e"),
        "euc-jp",
    )
    assert units_of(path)[0].target == "日本"
    assert fill_all(path, lambda unit: "本").endswith('msgstr "本"\n'.encode("euc-jp"))
    with pytest.raises(UserError, match=r"a.po: its encoding EUC-JP cannot hold '☃'"):
        fill_all(path, lambda unit: "☃")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER.format("klingon") + 'msgid "a"\nmsgstr ""\n', "'klingon' that it names is not known"),
        (HEADER.format("ASCII") + 'msgid "é"\nmsgstr ""\n', "a.po:6: byte 0xC3 is not ASCII"),
        ('msgid "a"\nmsgstr ""\n\nmsgid "a"\nmsgstr ""\n', "a.po:4: msgid 'a' is there twice"),
        ('msgid "a\nmsgstr ""\n', "a.po:1: '\"a' is no quoted string"),
        ('msgid "a"\n', "a.po:2: the last entry has no msgstr"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', "a.po:3: a second msgstr"),
        ("hello\n", "a.po:1: 'hello' is no line of a PO file"),
        ('"a"\n', "a.po:1: a string that belongs to no keyword"),
        ('msgstr "a"\n', "a.po:1: msgstr without msgid"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        units_of(write(tmp_path, text))
    assert message in str(error.value)


@given(st.text(st.sampled_from('ab "\\\n\t\r\x07é日 ')))
def test_quoted_strings_are_read_back(text: str) -> None:
    lines = quoted("msgstr", text, "\n").removeprefix("msgstr ").splitlines()
    assert "".join(unquoted(line) or "" for line in lines) == text
    assert all(len(line) <= 79 for line in lines if " " in line)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(st.sampled_from('ab\n"\\é '), min_size=1), st.text(st.sampled_from('ab\n"é'))), max_size=5
    )
)
def test_msgfmt_accepts_what_is_written(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    msgfmt = shutil.which("msgfmt")
    if msgfmt is None:
        pytest.skip("msgfmt (gettext) is not installed")
    folder = tmp_path_factory.mktemp("po")
    texts = {source.strip("\n") + "!": target.strip("\n") for source, target in pairs}
    entries = "".join(quoted("msgid", text, "\n") + 'msgstr ""\n\n' for text in texts)
    path = write(folder, HEADER.format("UTF-8") + entries + 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] ""\n')
    (folder / "b.po").write_bytes(fill_all(path, lambda unit: texts.get(unit.source, "x") or "y"))
    subprocess.run([msgfmt, "-c", "-o", str(folder / "b.mo"), str(folder / "b.po")], check=True, capture_output=True)
