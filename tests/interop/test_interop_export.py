"""The one function that writes formats: what it refuses, and the command line on top of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from regard.cli import main
from regard.errors import UserError
from regard.interop import ExportFormat, export_run


def test_the_command_line_knows_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--help"]) == 0
    text = capsys.readouterr().out
    assert get_args(ExportFormat)
    assert all(name in text for name in get_args(ExportFormat))


def test_the_command_line_writes_and_says_so(
    make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
    run, place = make_run(), tmp_path / "folder"
    assert main(["export", str(run), "--to", "ctranslate2", "--out", str(place)]) == 0
    err = capsys.readouterr().err
    assert f"wrote {place}" in err and "100.00%" in err and "use it: " in err
    assert main(["export", str(run), "--to", "ctranslate2", "--out", str(place)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_refusals(make_run: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--to word2vec is unknown"):
        export_run(make_run(), "word2vec", tmp_path / "x")  # pyrefly: ignore
    with pytest.raises(UserError, match="is not a run"):
        export_run(tmp_path, "ctranslate2", tmp_path / "x")
