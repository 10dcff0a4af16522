"""A run whose steps become slow says so once and chooses its team anew; the weights stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.experiment import follow
from regard.training.team import StepWatch, TeamSize

SETTINGS = {
    "data": {"corpus": "reverse", "lengths": "1-9", "examples": 300, "dev_examples": 20},
    "model": {"preset": "transformer", "width": 16, "depth": 1},
    "training": {"steps": 12, "evaluate_every": 4, "microbatches": 2, "batch_tokens": 300},
}


def test_slow_steps_are_noticed_once_and_the_team_is_chosen_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    regard.train(SETTINGS, tmp_path / "steady")
    assert "times as long" not in capsys.readouterr().err
    monkeypatch.setattr(StepWatch, "add", lambda watch, seconds: 4.2)
    monkeypatch.setattr(follow, "team_sizes", lambda training: [TeamSize(1, 1), TeamSize(2, 1)])
    regard.train(SETTINGS, tmp_path / "slow")
    lines = capsys.readouterr().err.splitlines()
    assert sum("a step takes 4.2 times as long as before" in line for line in lines) == 1
    assert sum("training continues with 1 process of 1 thread" in line for line in lines) >= 2, "after each validation"
    for name in ("model.safetensors", "last.safetensors"):
        assert (tmp_path / "steady" / name).read_bytes() == (tmp_path / "slow" / name).read_bytes()
