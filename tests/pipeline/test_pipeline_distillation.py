"""A student learns from its teacher's outputs; references of dev and test stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard import load, train
from regard.cli import main
from regard.config import DataConfig
from regard.data.corpus import load_corpus
from regard.pipeline.distillation import distil

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


def test_training_targets_are_the_teachers(teacher: Path, tmp_path: Path) -> None:
    model, seen = load(teacher, threads=1), []
    data = DataConfig(**DATA)
    left_out = distil(model, data, tmp_path / "taught", seen.append)
    before, after = load_corpus(data), load_corpus(DataConfig(corpus=str(tmp_path / "taught")))
    assert after.dev == before.dev and after.test == before.test and sum(seen) == len(before.train)
    assert len(after.train) == len(before.train) - left_out > 0
    some = after.train[:20]
    assert [one.target for one in some] == [one.text for one in model.translate([one.source for one in some])]


def test_the_command_trains_on_them(teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "student"
    words = ["train", *FLAGS, "--model.preset", "transformer", *SMALL, "--distill", str(teacher), "--out", str(out)]
    assert main(words) == 0
    assert (tmp_path / "student-taught" / "train.jsonl").is_file()
    assert load(out, threads=1).run.config.data.corpus == str(tmp_path / "student-taught")
    assert main(["train", "--out", str(out), "--resume", "--training.steps", "6"]) == 0
    capsys.readouterr()
    assert main([*words[:-1], str(out)]) == 2
    assert "without --distill" in capsys.readouterr().err


def test_a_teacher_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", *FLAGS, "--model.preset", "transformer", *SMALL, "--out", str(tmp_path / "b")]
    assert main([*words, "--distill", str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
