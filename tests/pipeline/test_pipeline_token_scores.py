"""The confidence of a translator's outputs: fitted on its own pairs, stored with it, printed with its outputs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.cli import main


@pytest.fixture(scope="module")
def run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = {"corpus": "copy", "lengths": "1-6", "examples": 1500, "dev_examples": 150, "test_examples": 150}
    training = {"steps": 150, "rate": 5e-3, "warmup_steps": 30, "batch_tokens": 512, "evaluate_every": 150}
    model = {"width": 32, "depth": 1, "heads": 2, "dropout": 0.0}
    return tiny_run(tmp_path_factory.mktemp("confidence") / "copy", "transformer", data, model, training)


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    """A copy that a test may calibrate."""
    return shutil.copytree(run, tmp_path / "run")


def loaded(path: Path) -> regard.Translator:
    model = regard.load(path, threads=1)
    assert isinstance(model, regard.Translator)
    return model


def test_without_calibration_there_is_none(run: Path):
    assert loaded(run).translate("ab").confidence is None


def test_it_is_of_the_output_whatever_searched_for_it(own: Path):
    model = loaded(own)
    report = model.calibrate()
    assert (report.event, report.fitted, report.measured) == ("exact", 150, 150)
    greedy, wide = (model.translate("ab", beams=beams) for beams in (1, 4))
    assert greedy.text == wide.text and greedy.confidence == pytest.approx(wide.confidence)
    sure, unsure = model.translate("a").confidence, model.translate("qzxqzxqzxqzxqzx").confidence
    assert sure is not None and unsure is not None and 0 < unsure < sure < 1
    assert model.translate("").confidence == 0


def test_its_scores_are_those_of_the_search(own: Path):
    result = loaded(own).translate("abc", beams=1)
    assert result.scorer is not None
    (scores,) = result.scorer()
    assert sum(scores.log_probs) == pytest.approx(result.log_prob, abs=1e-4)
    assert len(scores.log_probs) == len(result.ids) + 1 and min(scores.margins) > 0


def test_the_command_line(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["translate", str(own), "ab", "--confidence"]) == 2
    assert "is not calibrated; run `regard calibrate" in capsys.readouterr().err
    packed = str(tmp_path / "own.regard")
    assert main(["pack", str(own), "--out", packed]) == 0
    assert main(["translate", packed, "ab", "--confidence"]) == 2
    assert f"{packed} is not calibrated; run `regard calibrate {packed}`" in capsys.readouterr().err
    picture = tmp_path / "curve.svg"
    assert main(["calibrate", str(own), "--save", str(picture), "--threads", "1"]) == 0
    assert "ECE before" in capsys.readouterr().out and picture.read_text().startswith("<svg")
    assert main(["translate", str(own), "ab", "--confidence"]) == 0
    confidence, text = capsys.readouterr().out.rstrip("\n").split("\t")
    assert 0 < float(confidence) <= 1 and text == loaded(own).translate("ab").text
    assert main(["translate", str(own), "ab", "--confidence", "--json"]) == 0
    assert '"confidence": 0.' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--save", "curve.txt"], "a picture is saved as"),
        (["--event", "bleu"], "bleu"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, own: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["calibrate", str(own), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_other_tasks_are_refused(language_run: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["calibrate", str(language_run)]) == 2
    assert "only translations are calibrated; this run is for continuation" in capsys.readouterr().err
