"""metrics.jsonl and the progress line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.config import TrainingPlan
from regard.training.report import Metrics, ProgressLine, StepReport, clock, dev_text, read_metrics


def report(step: int, validated: bool = False) -> StepReport:
    dev = {"loss": 1.5, "accuracy": 30.0, "exact": 12.5} if validated else None
    return StepReport(step, step / 10, 2.0, 1e-3, 0.7, 100, step * 0.5, 0.5, dev, improved=validated)


def test_metrics_are_appended_and_cut(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    for step in range(1, 6):
        metrics.add(report(step, validated=step == 4))
    assert not metrics.path.exists()
    metrics.flush()
    metrics.flush()
    assert [line["step"] for line in read_metrics(metrics.path)] == [1, 2, 3, 4, 5]
    assert read_metrics(metrics.path)[3]["dev"]["exact"] == 12.5
    with metrics.path.open("a") as file:
        file.write('{"step": 6, "lo')  # a crash in the middle of a line
    metrics.cut_after(4)
    metrics.add(report(5))
    metrics.flush()
    assert [json.loads(line)["step"] for line in metrics.path.read_text().splitlines()] == [1, 2, 3, 4, 5]


def test_no_terminal_gives_one_plain_line_a_validation(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(TrainingPlan(rate=1.0, metric="exact"), total=20) as line:
        for step in range(1, 21):
            line.show(report(step, validated=step % 10 == 0))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "step 10/20  epoch 1.0  loss 2.000  dev exact 12.5%, loss 1.500  0:05  * best",
        "step 20/20  epoch 2.0  loss 2.000  dev exact 12.5%, loss 1.500  0:10  * best",
    ]


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(TrainingPlan(rate=1.0, metric="exact"), total=20, quiet=True) as line:
        line.say("a word")
        line.show(report(1, validated=True))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_speed_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    monkeypatch.setenv("COLUMNS", "160")
    with ProgressLine(TrainingPlan(rate=1.0, metric="exact"), total=20) as line:
        for step in range(1, 11):
            line.show(report(step, validated=step == 5))
    err = capsys.readouterr().err
    assert "200 tokens/s" in err  # 100 tokens in half a second
    assert "0:05 left" in err  # ten steps of half a second


def test_words() -> None:
    assert clock(7.4) == "0:07" and clock(192) == "3:12" and clock(3723) == "1:02:03"
    assert dev_text({"loss": 1.0, "accuracy": 2.0}, "loss") == "loss 1.000"
    assert dev_text({"loss": 1.0, "chrf": 54.12}, "chrf") == "chrf 54.1, loss 1.000"
