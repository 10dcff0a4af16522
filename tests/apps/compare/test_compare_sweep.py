"""A small sweep: each run is trained once, a second call trains none, and the report has all measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.apps.compare import Sweep, run_sweep
from regard.apps.compare.measure import Measurement, Quality
from regard.apps.compare.report import markdown, rank
from regard.cli import main
from regard.config import Tree

SETTINGS = (
    "--steps=3", "--data.examples=80", "--data.dev-examples=10", "--data.test-examples=10", "--model.width=8",
    "--training.threads=1", "--training.processes=1", "--training.evaluate-every=2",
)  # fmt: skip


def test_a_sweep_and_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "reverse", "--presets", "gru-fixed,lstm-dot", "--out", str(tmp_path / "c"), *SETTINGS]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "| gru-fixed |" in out and "| lstm-dot |" in out and "exact match" in out
    weights = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("model.safetensors")}
    assert len(weights) == 2
    report = json.loads((tmp_path / "c" / "report.json").read_text())
    assert {run["preset"] for run in report} == {"gru-fixed", "lstm-dot"}
    assert all(run["peak_bytes"] > 2**26 and run["training_tokens_per_second"] > 0 for run in report)
    assert all(len(run["curve"]) == 2 and len(run["outputs"]) == 8 for run in report)
    page = (tmp_path / "c" / "report.html").read_text()
    assert page.count("<polyline") == 2 and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert main(command) == 0  # nothing is left to train
    assert {path: path.stat().st_mtime_ns for path in weights} == weights


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--presets", "lstm-dott"), "did you mean 'lstm-dot'"),
        (("--presets", "lstm-dot,lstm-dot"), "twice"),
        (("--presets", "lstm-dot", "--seeds", "0"), "one seed at least"),
        (("--presets", "lstm-dot", "--model.encoder-width", "6", "--model.decoder-width", "8"), "encoder_width = 6"),
    ],
)
def test_refused_before_anything_is_trained(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "reverse", *arguments, "--out", str(tmp_path / "c")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def measured(preset: str, seed: int, quality: Quality) -> Measurement:
    report = {"by_length": [{"shortest": 1, "longest": 3, "exact": quality.value}]}
    return Measurement(preset, seed, quality, 10, 5.0, 60.0, 7.0, 2**20, report, [(1, 2.0)], [("a", "b", "b")])


def test_ranking_knows_which_way_is_up() -> None:
    exact = [measured("a", 1, Quality("exact match", 50, True)), measured("b", 1, Quality("exact match", 90, True))]
    assert [standing.preset for standing in rank(exact)] == ["b", "a"]
    bits = [measured("a", 1, Quality("bits per character", 2.0, False)), measured("b", 1, Quality("bits", 3.0, False))]
    assert [standing.preset for standing in rank(bits)] == ["a", "b"]
    seeds = [measured("a", seed, Quality("exact match", value, True)) for seed, value in ((1, 80.0), (2, 90.0))]
    text = markdown("title", rank(seeds))
    assert "| a | 85.00 (80.00 to 90.00) | 10 | 5 | 7 | 1 | 1.0 |" in text and "| a | 85.0 |" in text


def test_a_run_has_the_settings_of_the_sweep_one_process_and_one_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Tree] = []

    def refuse(words: list[str], **_: object) -> None:
        jobs.append(json.loads(words[-1])["settings"])
        raise InterruptedError

    monkeypatch.setattr("regard.apps.compare.sweep.subprocess.Popen", refuse)
    settings = {"training": {"steps": 3}, "tokenizer": {"shared": True}}
    with pytest.raises(InterruptedError):
        next(run_sweep(Sweep("reverse", ("lstm-dot",), 1, settings, tmp_path)))
    assert {"steps": 3, "seed": 1, "processes": 1}.items() <= jobs[0]["training"].items()
    assert jobs[0]["tokenizer"]["shared"] is True and jobs[0]["model"]["preset"] == "lstm-dot"
    with pytest.raises(InterruptedError):
        next(run_sweep(Sweep("reverse", ("lstm-dot",), 1, {"training": {"processes": 2}}, tmp_path)))
    assert jobs[1]["training"]["processes"] == 2


def test_a_failed_training_is_one_line_with_its_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c" / "lstm-dot-1").mkdir(parents=True)
    (tmp_path / "c" / "lstm-dot-1" / "thesis.txt").write_text("precious")
    assert main(["compare", "reverse", "--presets", "lstm-dot", "--out", str(tmp_path / "c"), *SETTINGS]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "exists and is not an empty directory; choose another --out" in error
