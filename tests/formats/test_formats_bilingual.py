"""XLIFF, Qt's TS and Xcode's catalogs: states, what is left out, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_files import EN_FR, QT, XLIFF1, XLIFF2, left_out, units_of

from regard.errors import UserError
from regard.formats.reading import languages_of
from regard.formats.unit import Filling, LanguagePair
from regard.formats.writing import filled


@pytest.mark.parametrize(
    ("attributes", "state"),
    [
        ('state="final"', "translated"),
        ('state="needs-review-translation"', "fuzzy"),
        ('state="new"', "untranslated"),
        ("", "translated"),
    ],
)
def test_states_of_xliff_1(tmp_path: Path, attributes: str, state: str) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF1.replace('state="final"', attributes))
    assert units_of(path)[0].state == state


def test_segmented_xliff_1_is_read_as_whole_units(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    segmented = '<seg-source><mrk mtype="seg" mid="1">Hello</mrk></seg-source>'
    path.write_text(
        XLIFF1.replace("<source>Hello</source>", f"<source>Hello</source>{segmented}").replace(
            "Bonjour", '<mrk mtype="seg" mid="1">Bonjour</mrk>'
        )
    )
    assert (units_of(path)[0].source, units_of(path)[0].target) == ("Hello", "Bonjour")


def test_files_in_other_languages_are_left_out(tmp_path: Path) -> None:
    for name, text in (("a.xlf", XLIFF1), ("b.xlf", XLIFF2.replace("srcLang", 'trgLang="fr" srcLang'))):
        path = tmp_path / name
        path.write_text(text)
        assert not units_of(path, LanguagePair("de", "fr"))
        assert "from en to fr" in left_out(path, LanguagePair("de", "fr"))[0].why
        assert languages_of(path) == ("en", "fr")


def test_a_trusted_filling_needs_no_review(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.xlf", XLIFF1, 'state="translated" state-qualifier="exact-match"'),
        ("b.xlf", XLIFF2, 'state="translated" subState="regard:tm"'),
        ("c.ts", QT, "<translation>x<byte"),
    ):
        path = tmp_path / name
        path.write_text(text)
        unit = next(unit for unit in units_of(path) if unit.state == "untranslated" and unit.native)
        output = filled(path, [Filling(unit, "x" + "".join(unit.native), "memory", review=False, note="")], EN_FR)
        assert expected in output.decode()
        path.write_bytes(output)
        assert next(new for new in units_of(path) if new.key == unit.key).state == "translated"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlf", XLIFF1.replace('id="2"', 'id="1"'), "a.xlf:9: a second <trans-unit> with id '1'"),
        ("a.xlf", XLIFF1.replace(' id="2"', ""), "a.xlf:9: <trans-unit> has no id"),
        ("a.xlf", XLIFF1.replace("<source>To do</source>", ""), "<trans-unit id='3'> has no <source>"),
        ("a.xlf", "<xliff version='3.0'/>", "XLIFF version '3.0'"),
        ("a.xlf", "<html/>", "no <xliff> at its start"),
        ("a.xlf", XLIFF2.replace("</source>", "</source><target>x</target>", 1), "names no trgLang"),
        ("a.xlf", XLIFF2.replace("<source> </source>", ""), "<ignorable> needs one <source>"),
        ("a.tmx", "<html/>", "no <tmx> at its start"),
        ("a.tmx", "<tmx><body><tu><tuv><seg/></tuv></tu></body></tmx>", "<tuv> names no language"),
        ("a.ts", "<html/>", "no <TS> at its start"),
        ("a.ts", QT.replace("<message>", '<message id="1">'), "a second <message> with id '1'"),
        ("a.xcstrings", "{}", "no sourceLanguage and strings"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UserError) as error:
        units_of(path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_catalog_needs_a_target_language(tmp_path: Path) -> None:
    path = tmp_path / "a.xcstrings"
    path.write_text('{"sourceLanguage": "en", "strings": {"a": {}}}')
    with pytest.raises(UserError, match=r"choose with --data\.target-language fr"):
        units_of(path, LanguagePair())
    assert units_of(path)[0].source == "a"


def test_plural_forms_of_a_catalog(tmp_path: Path) -> None:
    form = '"{}": {{"stringUnit": {{"state": "new", "value": ""}}}}'
    forms = '{"variations": {"plural": {' + f"{form.format('one')}, {form.format('other')}" + "}}}"
    path = tmp_path / "a.xcstrings"
    path.write_text(f'{{"sourceLanguage": "en", "strings": {{"a": {{"localizations": {{"en": {forms}}}}}}}}}')
    assert "plural forms that the target language does not have yet" in left_out(path)[0].why
    path.write_text(path.read_text().replace('"en": {', f'"fr": {forms}, "en": {{'))
    assert [unit.plural for unit in units_of(path)] == ["one", "other"]
