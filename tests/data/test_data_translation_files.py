"""Pairs from translators' files: which units are taken, and why the others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.translation_files import read_translation_pair, read_translation_pairs
from regard.errors import UserError
from regard.formats.unit import LanguagePair

PO = r"""#, fuzzy
msgid "Quit"
msgstr "Quitter"

msgid " Save\n"
msgstr " Enregistrer\n"

msgid "New"
msgstr ""

#~ msgid "Old"
#~ msgstr "Vieux"
"""
TU = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>\n'


def write_memory(path: Path, units: list[tuple[str, str, str, str]], header: str = "*all*") -> Path:
    body = "".join(TU.format(*unit) for unit in units)
    path.write_text(f'<tmx version="1.4"><header srclang="{header}"/><body>\n{body}</body></tmx>')
    return path


def test_translated_units_are_taken_and_the_others_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text(PO)
    reading = read_translation_pairs(path, LanguagePair())
    assert reading.examples == [Example("Save", "Enregistrer")]
    assert [(skipped.where.rpartition(":")[2], skipped.why) for skipped in reading.skipped] == [
        ("2", "needs review (--data.fuzzy true takes it)"),
        ("8", "no translation"),
        ("11", "obsolete"),
    ]
    assert Example("Quit", "Quitter") in read_translation_pairs(path, LanguagePair(), fuzzy=True).examples


def test_a_memory_trains_a_corpus(tmp_path: Path) -> None:
    units = [("en-US", f"word {n}", "fr-CA", f"mot {n}") for n in range(8)]
    path = write_memory(tmp_path / "a.tmx", [*units, ("en-GB", "colour", "fr", "couleur"), ("de", "Wort", "fr", "mot")])
    corpus = load_corpus(DataSettings(pairs=str(path), source_language="en", target_language="fr"))
    assert len(corpus.train) + len(corpus.dev) + len(corpus.test) == 9
    assert [skipped.why for skipped in corpus.skipped] == ["no text in en"]
    assert "pairs by language variant: 8 en-US fr-CA, 1 en-GB fr" in corpus.notes


def test_languages_that_are_open_are_those_of_the_file(tmp_path: Path) -> None:
    path = write_memory(tmp_path / "a.tmx", [("fr", "mot", "en", "word")])
    assert read_translation_pairs(path, LanguagePair()).examples == [Example("mot", "word")]
    assert read_translation_pairs(path, LanguagePair("en")).examples == [Example("word", "mot")]
    write_memory(path, [("fr", "mot", "en", "word")], header="en")
    assert read_translation_pairs(path, LanguagePair()).examples == [Example("word", "mot")]
    path.write_text(path.read_text().replace("</tu>", '<tuv xml:lang="de"><seg>Wort</seg></tuv></tu>'))
    with pytest.raises(UserError, match=r"a.tmx:2: the languages are fr, en, de; choose with --data.source-language"):
        read_translation_pairs(path, LanguagePair())


def test_a_memory_without_the_pair_says_what_was_left_out(tmp_path: Path) -> None:
    path = write_memory(tmp_path / "a.tmx", [("fr", "mot", "en", "word")] * 2)
    with pytest.raises(UserError, match=r"an empty corpus, no pair to use; 2 × no text in de"):
        load_corpus(DataSettings(pairs=str(path), source_language="de", target_language="fr"))


def test_two_files_of_one_language_each(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text('{"a": "One", "b": {"c": "Two"}, "d": "Three"}')
    (tmp_path / "fr.json").write_text('{"b": {"c": "Deux"}, "a": "Un", "e": "Quatre"}')
    reading = read_translation_pair(tmp_path / "en.json", tmp_path / "fr.json")
    assert reading is not None
    assert reading.examples == [Example("One", "Un"), Example("Two", "Deux")]
    assert [skipped.why for skipped in reading.skipped] == ["no translation", "no text with this key in the source"]
    with pytest.raises(UserError, match=r"holds the texts of one language; give both files"):
        read_translation_pairs(tmp_path / "en.json", LanguagePair("en", "fr"))
    assert read_translation_pair(tmp_path / "a.txt", tmp_path / "b.txt") is None


def test_a_folder_of_many_formats_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(PO)
    write_memory(tmp_path / "b.tmx", [("en", f"word {n}", "fr", f"mot {n}") for n in range(9)])
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "en.json").write_text('{"a": "One"}')
    (tmp_path / "web" / "fr.json").write_text('{"a": "Un"}')
    (tmp_path / "web" / "de.json").write_text('{"a": "Eins"}')
    (tmp_path / "web" / "code.ts").write_text("const x = 1;")
    (tmp_path / "web" / "feed.xml").write_text("<rss/>")
    (tmp_path / "c.csv").write_text("en,fr,de\nTwo,Deux,Zwei\n")
    corpus = load_corpus(DataSettings(pairs=str(tmp_path), source_language="en", target_language="fr"))
    pairs = {pair for split in corpus.splits().values() for pair in split}
    assert {Example("Save", "Enregistrer"), Example("One", "Un"), Example("Two", "Deux")} < pairs and len(pairs) == 12
    assert f"{tmp_path}/web/de.json:1" in [skipped.where for skipped in corpus.skipped]
    assert sum(skipped.why == "a file of another kind" for skipped in corpus.skipped) == 2
    with pytest.raises(UserError, match=r"are of one language each; choose with --data\.source-language"):
        load_corpus(DataSettings(pairs=str(tmp_path)))
