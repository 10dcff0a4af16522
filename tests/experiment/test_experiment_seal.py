"""Verifying a run finds what is not as it was, also where every file is whole and fits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from regard.cli import main
from regard.errors import UserError
from regard.experiment.seal import SEAL, file_digest, read_seal, verify_run
from regard.weights import read_tensors, write_tensors


@pytest.fixture
def run(translator_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(translator_run, tmp_path / "moved"))


def failures(run: Path) -> list[str]:
    return [str(check) for check in verify_run(run) if check.problem is not None]


def test_a_run_that_was_moved_is_as_it_was(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(run)]) == 0
    out = capsys.readouterr().out
    assert "FAILED" not in out and out.count("ok ") >= 7
    for line in ("format 2", "model.safetensors", "sample output 4", "corpus: copy", "torch: 2", "machine: "):
        assert line in out


def test_every_task(classifier_run: Path, language_run: Path) -> None:
    for other in (classifier_run, language_run):
        assert failures(other) == []


def test_a_changed_and_a_missing_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "recipe.toml").write_text((run / "recipe.toml").read_text() + "\n# a comment\n")
    (run / "last.safetensors").unlink()
    assert main(["verify", str(run)]) == 2
    out, err = capsys.readouterr()
    assert "FAILED  recipe.toml: its checksum is another" in out and "FAILED  last.safetensors: it is missing" in out
    assert "2 checks failed" in err and err.count("\n") == 1


def test_weights_that_fit_and_are_not_those(run: Path) -> None:
    """Transposed, written with a checksum of their own, and the seal's checksum adapted."""
    tensors, numbers = read_tensors(run / "model.safetensors")
    square = {name: t.T.contiguous() for name, t in tensors.items() if t.dim() == 2 and t.shape[0] == t.shape[1]}
    assert square
    write_tensors(run / "model.safetensors", tensors | square, numbers)
    seal = read_seal(run)
    seal["files"]["model.safetensors"] = file_digest(run / "model.safetensors")
    (run / SEAL).write_text(json.dumps(seal))
    problems = failures(run)
    assert problems and all(problem.startswith("FAILED  sample output") for problem in problems)


def test_weights_that_do_not_fit(run: Path) -> None:
    tensors, numbers = read_tensors(run / "model.safetensors")
    write_tensors(run / "model.safetensors", dict(list(tensors.items())[1:]), numbers)
    assert any("recipe, tokenizers and weights fit" in problem and "lacks" in problem for problem in failures(run))


@pytest.mark.parametrize("seal", [None, "", "7", "{}", "[" * 9999, '{"files": {}, "samples": [3], "provenance": {}}'])
def test_no_seal_or_a_damaged_one(run: Path, seal: str | None) -> None:
    if seal is None:
        (run / SEAL).unlink()
    else:
        (run / SEAL).write_text(seal)
    with pytest.raises(UserError, match="has no seal" if seal is None else r"seal\.json is damaged"):
        failures(run)


def test_a_seal_names_no_file_elsewhere(run: Path) -> None:
    seal = read_seal(run)
    seal["files"]["../secret"] = "0"
    (run.parent / "secret").write_text("")
    (run / SEAL).write_text(json.dumps(seal))
    assert failures(run) == ["FAILED  ../secret: it is missing"]
