"""A student learns from its teacher's outputs beside the references; those of dev and test stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from regard import load, train
from regard.cli import main
from regard.config import DataSettings, SearchSettings, merge, settle
from regard.data.corpus import load_corpus
from regard.experiment.distill import distil
from regard.experiment.init_from import is_of_a_kind
from regard.pipeline import Pipeline
from regard.pipeline.result import Result

DATA = {"corpus": "copy", "lengths": "1-3", "examples": 300, "dev_examples": 20, "test_examples": 20}
FLAGS = ["--data.corpus", "copy", "--data.lengths", "1-3", "--data.examples", "300", "--data.dev-examples", "20"]
SMALL = ["--model.width", "16", "--model.depth", "1", "--training.steps", "4", "--training.threads", "1"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("teacher") / "run"
    settings = {
        "data": DATA,
        "model": {"preset": "lstm-dot", "width": 32, "dropout": 0.0},
        "training": {"steps": 60, "batch_tokens": 256, "rate": 1e-2, "threads": 1, "evaluate_every": 60},
    }
    train(settings, path, progress=False)
    return path


def test_what_the_teacher_writes_joins_the_references(teacher: Path, tmp_path: Path) -> None:
    model, seen = load(teacher, threads=1), []
    data = DataSettings(**DATA)
    left_out = distil(model, data, tmp_path / "taught", seen.append)
    before, after = load_corpus(data), load_corpus(DataSettings(corpus=str(tmp_path / "taught")))
    assert after.dev == before.dev and after.test == before.test and sum(seen) == len(before.train)
    count = len(before.train) - left_out
    assert after.train[count:] == before.train and count > 0
    references = {one.source: one.target for one in before.train}
    some = after.train[:count][:40]
    found = [[other.text for other in one.alternatives] for one in model.translate([e.source for e in some], n_best=5)]
    assert all(one.target in texts for one, texts in zip(some, found, strict=True))
    for example, texts in zip(some, found, strict=True):  # the teacher is not sure of all of it
        if references[example.source] in texts:
            assert example.target == references[example.source]
    first = [texts[0] for texts in found]
    assert first != [one.target for one in some]


def test_an_output_without_an_end_is_never_taught(teacher: Path, tmp_path: Path) -> None:
    model = load(teacher, threads=1)
    results = [
        Result("b", -1.0, (), -1.0, alternatives=(Result("b", -1.0, (), -1.0), Result("ab", -2.0, (), -2.0, False))),
        Result("ab", -1.0, (), -1.0, False),
    ]
    corpus = load_corpus(DataSettings(**DATA))

    class Scripted(type(model)):
        def translate_all(self, texts: list[str], search: SearchSettings, progress: object = None) -> list[Result]:
            assert (search.beams, search.n_best) == (5, 5)
            return [*results, *(Result(text, 0.0, (), 0.0) for text in texts[2:])]

    assert distil(Scripted(model.run), DataSettings(**DATA), tmp_path / "taught") == 1
    taught = load_corpus(DataSettings(corpus=str(tmp_path / "taught"))).train
    assert (taught[0].source, taught[0].target) == (corpus.train[0].source, "b")
    assert taught[1].source == corpus.train[2].source
    assert taught[len(corpus.train) - 1 :] == corpus.train  # the references, that of the source without any, too


def test_the_command_trains_on_them(teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "student"
    words = ["train", *FLAGS, "--model.preset", "transformer", *SMALL, "--distill", str(teacher), "--out", str(out)]
    assert main(words) == 0
    assert (tmp_path / "student-taught" / "train.jsonl").is_file()
    assert load(out, threads=1).run.plan.data.corpus == str(tmp_path / "student-taught")
    assert main(["train", "--out", str(out), "--resume", "--training.steps", "6"]) == 0
    capsys.readouterr()
    assert main([*words[:-1], str(out)]) == 2
    assert "without --distill" in capsys.readouterr().err


def test_a_teacher_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", *FLAGS, "--model.preset", "transformer", *SMALL, "--out", str(tmp_path / "b")]
    assert main([*words, "--distill", str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_whoever_asks_for_other_tokens_begins_from_nothing(teacher: Path) -> None:
    """And so does a model of another width; a setting that is the teacher's anyway is none that differs."""
    student = {"data": DATA, "model": {"preset": "lstm-dot"}}
    for sections, expected in (
        ({}, True),
        ({"tokenizer": {"kind": "character"}}, True),
        ({"tokenizer": {"kind": "bpe"}}, False),
        ({"model": {"width": 16}}, False),
        ({"model": {"cell": "gru"}}, False),
        ({"model": {"preset": "transformer"}}, False),
    ):
        assert is_of_a_kind(settle(merge(student, sections)), teacher) is expected, sections
    assert not is_of_a_kind(settle({"data": DATA}), teacher)  # the corpus names a model, not the teacher


def test_what_cannot_begin_is_told_before_the_teacher_translates(
    teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "train",
        *FLAGS,
        "--model.preset",
        "lstm-dot",
        "--distill",
        str(teacher),
        "--out",
        str(tmp_path / "student"),
    ]
    assert main([*words, "--training.init_from", str(teacher), "--tokenizer.kind", "bpe"]) == 2
    assert capsys.readouterr().err.startswith("regard: tokenizer.kind = 'bpe', but")
    assert not (tmp_path / "student-taught").exists()


def test_several_teach_as_an_ensemble(teacher: Path, tmp_path: Path) -> None:
    settings = {
        "data": DATA,
        "model": {"preset": "transformer", "width": 16, "depth": 1},
        "training": {"steps": 40, "batch_tokens": 256, "threads": 1, "evaluate_every": 40},
    }
    train(settings, tmp_path / "second", progress=False)
    runs = [teacher, tmp_path / "second"]
    taught = []
    for teachers in (runs[:1], runs[1:], runs):
        out = tmp_path / f"student-{len(taught)}"
        given = [word for run in teachers for word in ("--distill", str(run))]
        assert main(["train", *FLAGS, "--model.preset", "transformer", *SMALL, *given, "--out", str(out)]) == 0
        taught.append((tmp_path / f"{out.name}-taught" / "train.jsonl").read_text(encoding="utf-8"))
        alike = teachers == [tmp_path / "second"]  # one teacher, of the student's kind and width
        assert load(out, threads=1).run.plan.training.init_from == (str(teachers[0]) if alike else None)
    data = DataSettings(**{key: value for key, value in DATA.items() if key != "test_examples"})
    distil(load(teacher, ensemble=runs[1:]), data, tmp_path / "expected")
    assert taught[2] == (tmp_path / "expected" / "train.jsonl").read_text(encoding="utf-8")
    assert len(set(taught)) == 3


def test_the_engine_is_named_and_never_chosen(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a student learns does not depend on what is installed."""
    loaded: list[str] = []

    def recorded(path: Path, engine: str, ensemble: Sequence[Path]) -> Pipeline:
        loaded.append(engine)
        return load(path, threads=1, engine=engine, ensemble=ensemble)  # pyrefly: ignore

    monkeypatch.setattr("regard.experiment.distill.load", recorded)
    words = ["train", *FLAGS, "--model.preset", "transformer", *SMALL, "--distill", str(teacher)]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    assert loaded == ["torch"] and 'distill_engine = "torch"' in (tmp_path / "a" / "recipe.toml").read_text()
    capsys.readouterr()
    named = ["--training.distill-engine", "ctranslate2", "--out", str(tmp_path / "b")]
    assert main([*words, *named]) == 2  # an LSTM
    assert "ctranslate2" in capsys.readouterr().err and not (tmp_path / "b-taught").exists()
    assert main([*words, "--distill", str(teacher), *named]) == 2
    assert "training.distill_engine = 'ctranslate2': several teachers" in capsys.readouterr().err
    assert main([*words, "--training.distill-engine", "auto", "--out", str(tmp_path / "b")]) == 2
