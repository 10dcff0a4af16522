"""Checks of pairs: each finds its fault and nothing else; cleaning drops what it is asked to and says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.cli import main
from regard.data.cleaning import clean_pairs
from regard.data.examples import Example, Skipped
from regard.data.files import read_pairs
from regard.data.pair_checks import CHECKS, check_pairs, chosen_checks, is_language
from regard.errors import UserError

GOOD = [Example(f"The file {name} is here", f"Le fichier {name} est ici") for name in "abcdefgh"]
FAULTS = {
    "duplicate": GOOD[0],
    "copy": Example("Save as", "Save as"),
    "length": Example("A sentence of some length here", "Une"),
    "placeholders": Example("Hello %s", "Bonjour"),
    "numbers": Example("Page 3 of 1,234.5", "Page 2 de 1 234,5"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_finds_its_fault(name: str) -> None:
    found = check_pairs([*GOOD, FAULTS[name]])
    assert found[:-1] == [{}] * len(GOOD)
    assert set(found[-1]) == {name}


def test_of_several_targets_the_rarer_are_named() -> None:
    pairs = [Example("Save", "Sauver"), Example("Save", "Enregistrer"), Example("Save", "Enregistrer")]
    found = check_pairs(pairs)
    assert found[0] == {"ambiguous": "2 targets for this source"}
    assert set(found[2]) == {"duplicate"} and found[1] == {}


def test_another_language_is_found_by_a_classifier() -> None:
    def identify(texts: Sequence[str]) -> list[tuple[str, float]]:
        return [("French", 0.99) if "fichier" in text else ("English", 0.95) for text in texts]

    pairs = [*GOOD, Example("Le fichier n'est pas la", "Le fichier n'est pas ici"), Example("short", "fichier")]
    found = check_pairs(pairs, identify, ("en", "fr-CA"))
    assert [problems for problems in found if problems] == [{"language": "the source looks like French, not en"}]
    assert is_language("en-GB", "en_US") and is_language("German", "de") and not is_language("German", "en")


def test_cleaning_writes_what_is_kept_and_why_the_rest_is_not(tmp_path: Path) -> None:
    out = tmp_path / "kept.tsv"
    cleaning = clean_pairs([*GOOD, *FAULTS.values()], [Skipped("a.po:3", "no translation")], out)
    assert cleaning.kept == len(read_pairs(out).examples) == len(GOOD) + 1
    assert sum(cleaning.dropped.values()) == 4 and cleaning.noted == {"numbers differ": 1}
    lines = [json.loads(line) for line in cleaning.dropped_file.read_text().splitlines()]
    assert lines[0] == {
        "why": {"duplicate": "the same pair as an earlier one"},
        "source": GOOD[0].source,
        "target": GOOD[0].target,
    }
    assert lines[-1] == {"why": "no translation", "where": "a.po:3"}
    assert clean_pairs([*GOOD, *FAULTS.values()], [], out, CHECKS).kept == len(GOOD)


@pytest.mark.parametrize(
    ("pairs", "name", "message"),
    [
        (GOOD, "kept.csv", "pairs are written as .tsv or .jsonl"),
        ([Example("a\nb", "c d")], "kept.tsv", "TSV cannot hold; write .jsonl"),
        ([FAULTS["copy"]], "kept.tsv", "no pair is left"),
    ],
)
def test_nothing_is_written_where_it_cannot_be(tmp_path: Path, pairs: list[Example], name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        clean_pairs(pairs, [], tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="--drop size: there is no such check"):
        chosen_checks("copy,size")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], classifier_run: Path) -> None:
    entries = "".join(f'msgid "{pair.source}"\nmsgstr "{pair.target}"\n\n' for pair in [*GOOD, FAULTS["copy"]])
    (tmp_path / "a.po").write_text(entries + 'msgid "x"\nmsgstr ""\n')
    out = tmp_path / "kept.tsv"
    assert main(["data", "clean", str(tmp_path / "a.po"), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "kept.tsv: 8 pairs kept" in printed and "1 × the target is a copy of the source" in printed
    assert main(["data", "inspect", "--data.pairs", str(tmp_path / "a.po"), "--language-run", str(classifier_run)]) == 2
    assert "give --data.source-language and --data.target-language" in capsys.readouterr().err
    languages = ["--data.source-language", "en", "--data.target-language", "fr"]
    words = ["data", "inspect", "--data.pairs", str(tmp_path / "a.po"), *languages]
    assert main([*words, "--language-run", str(classifier_run)]) == 0
    assert "1 × the target is a copy of the source" in capsys.readouterr().out
