"""A user's corpus: what is read, skipped and counted, and one clear line for every mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example, Skipped
from regard.data.files import write_pairs
from regard.errors import UserError


def lines(path: Path, *texts: str) -> str:
    path.write_bytes("".join(f"{text}\n" for text in texts).encode())
    return str(path)


def many(path: Path, count: int = 100) -> str:
    return lines(path, *(f"source {n}\ttarget {n}" for n in range(count)))


def test_parallel_tsv_and_jsonl_zipped_or_not_are_the_same_corpus(tmp_path: Path) -> None:
    pairs = [(f"source {n}", f"target {n} é") for n in range(60)]
    source = lines(tmp_path / "a.en", *(s for s, _ in pairs))
    target = lines(tmp_path / "a.fr", *(t for _, t in pairs))
    tsv = lines(tmp_path / "a.tsv", *(f"{s}\t{t}" for s, t in pairs))
    jsonl = lines(tmp_path / "a.jsonl", *(json.dumps({"source": s, "target": t, "id": 3}) for s, t in pairs))
    configs = [DataSettings(source=source, target=target), DataSettings(pairs=tsv), DataSettings(pairs=jsonl)]
    for plain in (source, target, tsv, jsonl):
        Path(f"{plain}.gz").write_bytes(gzip.compress(Path(plain).read_bytes()))
    configs += [DataSettings(source=f"{source}.gz", target=f"{target}.gz"), DataSettings(pairs=f"{tsv}.gz")]
    configs += [DataSettings(pairs=f"{jsonl}.gz")]
    first, *others = [load_corpus(config) for config in configs]
    assert len(first.train) + len(first.dev) + len(first.test) == 60
    assert (first.name, first.task) == ("a", "translation")
    for other in others:
        assert other == first


def test_empty_sides_are_skipped_and_counted(tmp_path: Path) -> None:
    source = lines(tmp_path / "s", "a", "", "c", " ", "e", "f", "g")
    target = lines(tmp_path / "t", "A", "B", "\t", "", "E", "F", "G")
    corpus = load_corpus(DataSettings(source=source, target=target))
    assert corpus.skipped == [
        Skipped(f"{source}:2", "the source is empty"),
        Skipped(f"{source}:3", "the target is empty"),
        Skipped(f"{source}:4", "both sides are empty"),
    ]
    assert {e.source for split in corpus.splits().values() for e in split} == set("aefg")


def test_where_every_source_is_empty_the_targets_are_text_to_continue(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.tsv", *(f"\ttext {n}" for n in range(50)), "\t")
    corpus = load_corpus(DataSettings(pairs=path))
    assert corpus.task == "continuation"
    assert corpus.skipped == [Skipped(f"{path}:51", "the target is empty")]


def test_labelled_text_is_classification(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.tsv", *(f"review {n}\t{('good', 'bad')[n % 2]}" for n in range(100)))
    corpus = load_corpus(DataSettings(pairs=path))
    assert (corpus.task, corpus.model) == ("classification", "lstm-classifier")
    assert any("2 different targets" in note for note in corpus.notes)


def test_given_dev_files_are_kept_whole_and_overlap_is_reported(tmp_path: Path) -> None:
    train = many(tmp_path / "train.tsv")
    dev = lines(tmp_path / "dev.tsv", "source 5\ttarget", "other\ttarget", "third\ttarget")
    test = lines(tmp_path / "test.tsv", "fourth\ttarget")
    corpus = load_corpus(DataSettings(pairs=train, dev_pairs=dev, test_pairs=test, dev_examples=7))
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (100, 3, 1)
    assert "1 of 3 dev examples have a source that train has too" in corpus.notes
    assert any("data.dev_examples is not used" in note for note in corpus.notes)
    assert not any("test" in note for note in corpus.notes)


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_pairs(folder / "train.tsv", [Example(f"s{n}", f"t{n}") for n in range(40)])
    write_pairs(folder / "test.jsonl", [Example("two\nlines", "a\ttab")])
    corpus = load_corpus(DataSettings(corpus=str(folder)))
    assert corpus.name == "mine"
    assert corpus.test == [Example("two\nlines", "a\ttab")]
    assert len(corpus.dev) == 2
    with pytest.raises(ValueError, match="does not fit TSV"):
        write_pairs(folder / "dev.tsv", corpus.test)
    assert not (folder / "dev.tsv").exists()
    (folder / "train.tsv").unlink()
    with pytest.raises(UserError, match=r"has no train\.tsv"):
        load_corpus(DataSettings(corpus=str(folder)))


def test_other_mistakes(tmp_path: Path) -> None:
    two, three = lines(tmp_path / "two", "a", "b"), lines(tmp_path / "three", "a", "b", "c")
    pairs = many(tmp_path / "p.tsv", 20)
    for config, message in (
        (DataSettings(source=two, target=three), "two has 2 lines and .*three has 3"),
        (DataSettings(source=two, target=str(tmp_path / "none")), "none: cannot read it: No such file"),
        (DataSettings(pairs=str(tmp_path / "x.tsv")), "x.tsv: cannot read it: No such file"),
        (DataSettings(corpus="dats"), "'dats' is no embedded corpus and no folder, did you mean 'dates'"),
        (DataSettings(), "no data: give"),
        (DataSettings(corpus="dates", dev_pairs=pairs), r"data\.dev_pairs is given, but"),
        (DataSettings(pairs=pairs, dev_examples=15, test_examples=5), "leave nothing to train on: there are 20"),
    ):
        with pytest.raises(UserError, match=message):
            load_corpus(config)
