"""Tagged sentences: two columns or CoNLL-U, and one clear line for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.tagged import Tagged, read_conllu, read_tagged
from regard.errors import UserError


def test_tagged_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("the\tDET\ncat\tNOUN\n\nit\tPRON\n")
    first, second = read_tagged(tmp_path / "plain")
    assert first == Tagged(("the", "cat"), ("DET", "NOUN")) and first.text == "the cat" and second.tags == ("PRON",)
    rows = ["# text = du bist", "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "1\tdu\tdu\tPRON\tPPER\t_\t2\tnsubj\t_\t_"]
    (tmp_path / "ud").write_text("\n".join([*rows, "2\tbist\tsein\tAUX\tVAFIN\t_\t0\troot\t_\t_"]) + "\n")
    assert read_tagged(tmp_path / "ud") == [Tagged(("du", "bist"), ("PRON", "AUX"))]
    assert read_tagged(tmp_path / "ud", "deprel")[0].tags == ("nsubj", "root")
    (tmp_path / "bad").write_text("a\tb\nc d e\n")
    with pytest.raises(UserError, match=r"bad:2: 1 columns"):
        read_tagged(tmp_path / "bad")
    with pytest.raises(UserError, match="--column 'pos'"):
        read_tagged(tmp_path / "ud", "pos")


def test_conllu_becomes_pairs(tmp_path: Path) -> None:
    def row(number: int, form: str, tag: str) -> str:
        return f"{number}\t{form}\t_\t{tag}\t_\t_\t0\troot\t_\t_\n"

    path = tmp_path / "train.conllu"
    path.write_text(row(1, "I", "PRON") + row(2, "run", "VERB") + "\n" + row(1, "?", "_") + "\n")
    reading = read_conllu(path)
    assert reading.examples == [Example("I run", "PRON VERB")] and reading.task == "tagging"
    assert [skipped.where for skipped in reading.skipped] == [f"{path}, sentence 2"]


def test_a_folder_of_conllu_is_tagged(tmp_path: Path) -> None:
    for split, count in (("train", 30), ("dev", 4), ("test", 4)):
        rows = (
            f"1\t{split}{n}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\truns\t_\tVERB\t_\t_\t1\tx\t_\t_\n" for n in range(count)
        )
        (tmp_path / f"{split}.conllu").write_text("\n".join(rows))
    corpus = load_corpus(DataSettings(corpus=str(tmp_path)))
    assert (corpus.task, corpus.model) == ("tagging", "lstm-tagger")
    assert [len(rows) for rows in corpus.splits().values()] == [30, 4, 4]


def test_pairs_with_a_tag_a_word_look_like_tags(tmp_path: Path) -> None:
    tags = [("the", "D"), ("old", "A"), ("dog", "N")]
    lines = [" ".join(f"{word}{n + i}" for i, (word, _) in enumerate(tags)) + "\tD A N\n" for n in range(40)]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    corpus = load_corpus(DataSettings(pairs=str(tmp_path / "pairs.tsv")))
    assert corpus.task == "tagging" and "they look like tags" in corpus.notes[0]
    (tmp_path / "pairs.tsv").write_text("".join([*lines, "one two\tD\n"]))
    assert load_corpus(DataSettings(pairs=str(tmp_path / "pairs.tsv"))).task != "tagging"
