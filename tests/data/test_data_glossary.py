"""Glossaries: reading, refusing, finding terms in sources and in outputs."""

from pathlib import Path

import pytest

from regard.data.glossary import Glossary, Term, stands_in
from regard.errors import UserError

TBX = """<?xml version="1.0" encoding="UTF-8"?>
<tbx style="dca" type="TBX-Basic" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry id="c1"><langSec xml:lang="en"><termSec><term>light</term></termSec><termSec><term>lamp</term></termSec>
</langSec><langSec xml:lang="fr-FR"><termSec><term>lampe</term></termSec></langSec></conceptEntry>
<conceptEntry id="c2"><langSec xml:lang="en"><termSec><term>fan</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""
MARTIF = """<martif type="TBX" xml:lang="en"><text><body><termEntry id="1">
<langSet xml:lang="en"><ntig><termGrp><term>light</term></termGrp></ntig></langSet>
<langSet xml:lang="fr"><tig><term>lampe</term></tig></langSet></termEntry></body></text></martif>"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_tsv_file(tmp_path: Path):
    glossary = Glossary.read(written(tmp_path, "terms.tsv", "light\tlampe\n\nDevice \tappareil\nlight\tlampe\n"))
    assert glossary.terms == (Term("light", "lampe"), Term("Device", "appareil"))


def test_both_kinds_of_tbx(tmp_path: Path):
    new = Glossary.read(written(tmp_path, "a.tbx", TBX), ("en", "fr"))
    assert new.terms == (Term("light", "lampe"), Term("lamp", "lampe"))
    assert Glossary.read(written(tmp_path, "b.tbx", MARTIF)).terms == (Term("light", "lampe"),)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "a\tb\nc\td\te\n", r"a\.tsv:2: 3 columns, not 2"),
        ("a.tsv", "only\n", r"a\.tsv:1: 1 column,"),
        ("a.tsv", "\tb\n", r"a\.tsv:1: the term is empty"),
        ("a.tsv", "a\t \n", r"a\.tsv:1: the translation is empty"),
        ("a.tsv", "a\tb\nA\tc\n", r"a\.tsv:2: 'A' is 'c' here and 'b' before; keep one"),
        ("a.tsv", "", r"it holds no term"),
        ("a.docx", "a\tb", r"a glossary is a \.tsv file .* or a \.tbx file"),
        ("a.tbx", "<tbx>", r"a\.tbx:1: not XML"),
        ("a.tbx", TBX.replace("fr-FR", "de"), r"no concept has a term in en and in fr; there are en, de"),
        ("a.tbx", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', r"it declares entities"),
    ],
)
def test_bad_glossaries_are_refused_in_one_line(name: str, text: str, said: str, tmp_path: Path):
    with pytest.raises(UserError, match=said) as raised:
        Glossary.read(written(tmp_path, name, text), ("en", "fr"))
    assert "\n" not in str(raised.value)


def test_a_glossary_of_three_languages_needs_the_run_to_name_two(tmp_path: Path):
    extra = MARTIF.replace("</termEntry>", '<langSet xml:lang="de"><tig><term>Licht</term></tig></langSet></termEntry>')
    with pytest.raises(UserError, match="it holds en, fr, de; the run must name two"):
        Glossary.read(written(tmp_path, "a.tbx", extra))


def test_a_file_that_is_not_there(tmp_path: Path):
    for name in ("a.tsv", "a.tbx"):
        with pytest.raises(UserError, match="cannot read it"):
            Glossary.read(tmp_path / name)


def test_terms_are_whole_words_and_the_longest_counts():
    glossary = Glossary([Term("light", "lampe"), Term("light switch", "interrupteur"), Term("C++", "C++")])
    assert [term.source for term in glossary.find("The Light  switch, a LIGHT, lights, C++.")] == [
        "light switch",
        "light",
        "C++",
    ]
    assert Glossary([]).find("light") == []


@pytest.mark.parametrize(
    ("target", "output", "there"),
    [
        ("appareil", "un Appareil.", True),
        ("appareil", "des appareils", True),
        ("appareil photo", "les appareils photos", True),
        ("appareil", "une apparition", False),
        ("art", "un article", False),
        ("cheval", "des chevaux", True),
        ("grand lustre", "lustre grand", False),
        ("設定", "この設定を開く", True),
    ],
)
def test_a_translation_may_be_inflected(target: str, output: str, there: bool):
    assert stands_in(target, output) is there
