"""Translators' files: targets from a model and a memory, all else untouched, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.data.translation_files import read_translation_pairs
from regard.errors import UserError
from regard.formats.unit import LanguagePair
from regard.pipeline.file_translation import FileOptions, translate_file

PO = """msgid ""
msgstr ""
"Language: fr\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

msgid " abc\\n"
msgstr ""

msgid "cab"
msgstr ""

#, fuzzy
msgid "bca"
msgstr "old"

msgid "kept"
msgstr "gardé"
"""
MEMORY = """<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>cab</seg></tuv><tuv xml:lang="fr"><seg>CAB</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>abcd</seg></tuv><tuv xml:lang="fr"><seg>ABCD</seg></tuv></tu>
</body></tmx>
"""
XLIFF = """<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.1" srcLang="en"><file id="f"><unit id="u">
<segment><source>a<ph id="1"/></source></segment></unit></file></xliff>
"""


@pytest.fixture
def po(tmp_path: Path) -> Path:
    path = tmp_path / "a.po"
    path.write_text(PO, encoding="utf-8")
    (tmp_path / "memory.tmx").write_text(MEMORY)
    return path


def test_untranslated_units_are_filled_and_marked_for_review(translator: regard.Pipeline, po: Path) -> None:
    output = po.with_name("b.po")
    report = translate_file(translator, po, output)
    assert (report.by_machine, report.from_memory, report.kept) == (2, 0, 2)
    result = translator.translate("abc").text
    assert f'#, fuzzy\nmsgid " abc\\n"\nmsgstr " {result}\\n"\n' in output.read_text()
    assert "copy: machine translation, score " in output.read_text()
    assert output.read_text().endswith(PO[PO.index('#, fuzzy\nmsgid "bca"') :])


def test_exact_matches_come_from_the_memory_and_similar_ones_are_noted(translator: regard.Pipeline, po: Path) -> None:
    output = po.with_name("b.po")
    options = FileOptions(languages=LanguagePair("en", "fr"), memory=po.with_name("memory.tmx"))
    report = translate_file(translator, po, output, options)
    assert (report.by_machine, report.from_memory, report.similar) == (1, 1, 1)
    written = output.read_text()
    assert 'exact match\nmsgid "cab"\nmsgstr "CAB"\n' in written  # trusted, so not fuzzy
    assert '75% similar in memory: "abcd" = "ABCD"\n#, fuzzy\nmsgid " abc' in written
    pairs = read_translation_pairs(output, LanguagePair()).examples
    assert {pair.target for pair in pairs} == {"CAB", "gardé"}


def test_fuzzy_ones_and_all_on_request(translator: regard.Pipeline, po: Path) -> None:
    output = po.with_name("b.po")
    assert translate_file(translator, po, output, FileOptions("fuzzy")).by_machine == 3
    assert "old" not in output.read_text()
    assert translate_file(translator, po, output, FileOptions("all")).by_machine == 4
    assert "gardé" not in output.read_text()


def test_weak_ones_stay_empty(translator: regard.Pipeline, po: Path) -> None:
    report = translate_file(translator, po, po, FileOptions(threshold=1.0))
    assert report.by_machine == 0
    assert [left.why for left in report.left] == ["its score is below --threshold"] * 2
    assert po.read_text() == PO


def test_a_translation_without_its_tags_is_not_written(translator: regard.Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF)
    options = FileOptions(languages=LanguagePair("en", "fr"))
    report = translate_file(translator, path, tmp_path / "b.xlf", options)
    if report.by_machine:  # the model kept it
        assert (tmp_path / "b.xlf").read_text().count('<ph id="1"/>') == 2
    else:
        assert len(report.left) == 1
        assert (tmp_path / "b.xlf").read_text() == XLIFF


def test_a_file_of_one_language_keeps_the_translations_that_its_output_has(
    translator: regard.Pipeline, tmp_path: Path
) -> None:
    path, output = tmp_path / "en.json", tmp_path / "fr.json"
    path.write_text('{\n  "a": "abc",\n  "b": {"c": "cab"},\n  "n": 1\n}\n')
    output.write_text('{"b": {"c": "garde"}, "old": "vieux"}')
    report = translate_file(translator, path, output, FileOptions(languages=LanguagePair("en", "fr")))
    assert (report.by_machine, report.kept) == (1, 1)
    assert [left.why for left in report.left] == ["no text with this key in the source"]
    result = translator.translate("abc").text
    assert output.read_text() == f'{{\n  "a": "{result}",\n  "b": {{"c": "garde"}},\n  "n": 1\n}}\n'


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.xlf", XLIFF, FileOptions(), "names the target language; give --target-language fr"),
        ("a.po", PO, FileOptions(languages=LanguagePair("en", "de")), "its target language is fr, and"),
        ("a.xlf", XLIFF.replace("</unit>", ""), FileOptions(), "broken XML"),
        (
            "a.tmx",
            MEMORY,
            FileOptions(languages=LanguagePair("de", "fr")),
            "no unit to translate (no text in de)",
        ),
        ("a.po", PO + '\nmsgid "cab"\nmsgstr ""\n', FileOptions(), "msgid 'cab' is there twice"),
        ("a.po", PO, FileOptions(memory=Path("a.txt")), "--memory a.txt: not a translators' file"),
        ("a.po", PO.replace("UTF-8", "ASCII").replace("gardé", "garde"), FileOptions(), None),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    translator: regard.Pipeline, tmp_path: Path, name: str, text: str, options: FileOptions, message: str | None
) -> None:
    path, output = tmp_path / name, tmp_path / f"out-{name}"
    path.write_text(text, encoding="utf-8")
    output.write_text("old")
    if message is None:
        translate_file(translator, path, output, options)
        assert output.read_text() != "old"
        return
    with pytest.raises(UserError) as error:
        translate_file(translator, path, output, options)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert output.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([name, output.name])


def test_the_command(translator_run: Path, po: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["translate", str(translator_run), "--input", str(po), "--output", str(po.with_name("b.po"))]
    assert main([*words, "--threads", "1"]) == 0
    assert "b.po: 2 translated, 0 from the memory, 2 kept" in capsys.readouterr().out
    assert main(words[:-2]) == 2
    assert "give --output, the file to write" in capsys.readouterr().err
    assert main([*words[:-1], "b.xlf"]) == 2
    assert "give a file of the same format" in capsys.readouterr().err
