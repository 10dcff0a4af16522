"""regard translate --shard and --merge as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.cli import main


def test_a_file_in_shards(
    translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, parts = tmp_path / "in.txt", str(tmp_path / "parts")
    source.write_text("abc\n\nba\n", encoding="utf-8")
    words = ["translate", str(translator_run), "--input", str(source), "--output", parts, "--threads", "1"]
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main([*words, "--shard", "env"]) == 0
    assert "shard 1/2: 0 lines translated" in capsys.readouterr().err
    assert main([*words, "--merge", str(tmp_path / "out.txt")]) == 2
    assert "chunk-000000.txt is missing; run its shard again with --resume" in capsys.readouterr().err
    assert main([*words, "--shard", "0/2"]) == 0
    assert main([*words, "--merge", str(tmp_path / "out.txt")]) == 0
    assert f"wrote {tmp_path / 'out.txt'}: 3 lines" in capsys.readouterr().err
    assert main([*words[:4], "--output", str(tmp_path / "whole.txt"), "--threads", "1"]) == 0
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--shard", "0/2"], "need --input FILE and --output FOLDER"),
        (["--merge", "x"], "need --input FILE and --output FOLDER"),
        (["a text", "--shard", "0/2"], "leave texts and other outputs out"),
        (["--input", "{file}", "--output", "{file}", "--shard", "0/2"], "it is the folder of the chunks"),
        (["--input", "{file}", "--output", "{folder}", "--shard", "2/2"], "of 2 shards there are 0 to 1"),
        (["--input", "{folder}/none", "--output", "{folder}", "--shard", "0/2"], "none: cannot read it"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    (tmp_path / "file").write_text("a\n")
    given = [word.format(file=tmp_path / "file", folder=tmp_path / "parts") for word in words]
    assert main(["translate", str(translator_run), *given]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
