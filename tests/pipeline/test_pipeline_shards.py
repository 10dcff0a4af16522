"""Shards: any number of processes, stopped anywhere, write what one process writes."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest

import regard
from regard.child import python_command
from regard.errors import UserError
from regard.pipeline import shards
from regard.pipeline.interface import Pipeline
from regard.pipeline.shards import Shard, merge_chunks, translate_shard

LINES = 150  # of ten chunks


@pytest.fixture(scope="module")
def model(translator_run: Path) -> Pipeline:
    return regard.load(translator_run, threads=1)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shards, "CHUNK_LINES", 16)
    letters = random.Random(1)
    lines = ["".join(letters.choices("abcd", k=letters.randint(0, 4))) for _ in range(LINES)]
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_shards_joined_are_what_one_process_writes(model: Pipeline, source: Path, tmp_path: Path) -> None:
    only = translate_shard(model, source, tmp_path / "one", Shard())
    assert (only.translated, only.kept) == (LINES, 0)
    for index in (2, 0, 1):
        translate_shard(model, source, tmp_path / "three", Shard(index, 3))
    assert merge_chunks(source, tmp_path / "one", tmp_path / "one.txt") == LINES
    merge_chunks(source, tmp_path / "three", tmp_path / "three.txt")
    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "three.txt").read_bytes()
    lines = source.read_text().splitlines()
    outputs = (tmp_path / "one.txt").read_text().splitlines()
    assert len(outputs) == LINES and sum(map(str.__eq__, lines, outputs)) > 0.8 * LINES  # the model copies


def test_what_is_whole_stays_and_the_rest_is_translated_again(model: Pipeline, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    translate_shard(model, source, out, Shard())
    merge_chunks(source, out, tmp_path / "before.txt")
    with pytest.raises(UserError, match=r"chunk-000000\.txt is there already; go on with --resume"):
        translate_shard(model, source, out, Shard())
    shards.chunk_file(out, 3).write_text("cut\n")
    shards.record_file(out, 5).unlink()
    with pytest.raises(UserError, match=r"chunk-000003\.txt is damaged; run its shard"):
        merge_chunks(source, out, tmp_path / "after.txt")
    report = translate_shard(model, source, out, Shard(0, 2), resume=True)  # the even chunks
    assert (report.translated, report.kept) == (0, 5 * 16)
    report = translate_shard(model, source, out, Shard(1, 2), resume=True)
    assert (report.translated, report.kept) == (2 * 16, LINES - 7 * 16)
    shards.record_file(out, 2).unlink()
    with pytest.raises(UserError, match=r"chunk-000002\.txt is missing; run its shard"):
        merge_chunks(source, out, tmp_path / "after.txt")
    assert not (tmp_path / "after.txt").exists()
    translate_shard(model, source, out, Shard(), resume=True)
    merge_chunks(source, out, tmp_path / "after.txt")
    assert (tmp_path / "after.txt").read_bytes() == (tmp_path / "before.txt").read_bytes()


def test_another_input_or_search_is_refused(model: Pipeline, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    translate_shard(model, source, out, Shard())
    with pytest.raises(UserError, match="made with another search"):
        translate_shard(model, source, out, Shard(), model.search_with(beams=2), resume=True)
    changed = source.read_bytes().replace(b"a", b"b", 1)
    source.write_bytes(changed)
    with pytest.raises(UserError, match="its input was another"):
        merge_chunks(source, out, tmp_path / "joined.txt")
    source.write_bytes(changed + b"a\n")
    with pytest.raises(UserError, match="made with another bytes"):
        translate_shard(model, source, out, Shard(), resume=True)
    with pytest.raises(UserError, match="--n-best 3"):
        translate_shard(model, source, out, Shard(), model.search_with(n_best=3))


@pytest.mark.parametrize(
    ("text", "problem"), [("4/4", "there are 0 to 3"), ("1", "write i/n"), ("-1/3", "write i/n"), ("0/0", "0 shards")]
)
def test_a_shard_that_makes_no_sense(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        Shard.parse(text)


def test_the_environment_names_the_shard() -> None:
    assert Shard.of_environment({}) == Shard(0, 1)
    assert Shard.of_environment({"RANK": "2", "WORLD_SIZE": "5"}) == Shard(2, 5)
    slurm = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"}
    assert Shard.of_environment(slurm) == Shard(2, 8)


KILLED = """
from pathlib import Path
import regard
from regard.pipeline import shards
shards.CHUNK_LINES = 16
model = regard.load({run!r}, threads=1)
print("ready", flush=True)
shards.translate_shard(model, Path({source!r}), Path({out!r}), shards.Shard(), resume=True)
"""


def test_a_process_that_is_killed_loses_only_its_chunk(
    model: Pipeline, translator_run: Path, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    code = KILLED.format(run=str(translator_run), source=str(source), out=str(out))
    with subprocess.Popen(python_command(f"exec({code!r})"), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        while not shards.record_file(out, 1).exists() and process.poll() is None:
            pass
        process.send_signal(signal.SIGKILL)
    translate_shard(model, source, out, Shard(), resume=True)
    translate_shard(model, source, tmp_path / "whole", Shard())
    for folder in (out, tmp_path / "whole"):
        merge_chunks(source, folder, folder.with_suffix(".txt"))
    assert out.with_suffix(".txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
