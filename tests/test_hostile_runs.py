"""Run directories that somebody else made: each is refused in one line, before memory is taken, and no code is run."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import regard
from regard.cli import main
from regard.training.report import read_metrics
from regard.weights import read_tensors, write_tensors


@pytest.fixture(scope="module")
def whole(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = {"corpus": "copy", "lengths": "1-4", "examples": 60, "dev_examples": 5, "test_examples": 5}
    return tiny_run(tmp_path_factory.mktemp("hostile") / "run", "lstm-dot", data, {}, {"steps": 2})


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def header(path: Path, metadata: object, tensors: dict[str, object] | None = None) -> None:
    """A safetensors file with this header and no data."""
    data = json.dumps({"__metadata__": metadata, **(tensors or {})}).encode()
    path.write_bytes(struct.pack("<Q", len(data)) + data)


def unsigned(path: Path) -> None:
    safetensors.torch.save_file(safetensors.torch.load_file(path), path)


def not_a_number(path: Path) -> None:
    tensors, numbers = read_tensors(path)
    next(iter(tensors.values())).view(-1)[0] = torch.nan
    write_tensors(path, tensors, numbers)


def of_integers(path: Path) -> None:
    tensors, numbers = read_tensors(path)
    write_tensors(path, {name: tensor.to(torch.int32) for name, tensor in tensors.items()}, numbers)


def terabytes(path: Path) -> None:
    header(path, {}, {"x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}})


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.write_bytes(b"\x80\x04\x95" + b"pickle" * 50), "damaged"),
        (lambda path: path.write_bytes(b""), "damaged"),
        (lambda path: path.write_bytes(struct.pack("<Q", 2**60) + b"{}"), "damaged"),
        (lambda path: header(path, 7), "damaged"),
        (lambda path: header(path, {"regard": "[]"}), "lacks"),
        (lambda path: header(path, {}, {"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}), "damaged"),
        (terabytes, "damaged"),
        (unsigned, "damaged"),
        (not_a_number, "holds values that are not finite"),
        (of_integers, "belongs to another recipe"),
    ],
)
def test_weights(run: Path, damage: Callable[[Path], None], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    damage(run / "model.safetensors")
    assert main(["translate", str(run), "abc"]) == 2
    error = capsys.readouterr().err
    assert problem in error and str(run / "model.safetensors") in error and error.count("\n") == 1


@pytest.mark.parametrize("metadata", ["7", "[]", "null", '"text"', '{"digest": 3, "numbers": []}', "{", "[" * 10_000])
def test_metadata_of_weights_with_the_right_tensors(
    run: Path, metadata: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors, _ = read_tensors(run / "model.safetensors")
    safetensors.torch.save_file(tensors, run / "model.safetensors", {"regard": metadata})
    assert main(["translate", str(run), "abc"]) == 2
    error = capsys.readouterr().err
    assert "model.safetensors is damaged" in error and error.count("\n") == 1


FACTS = [
    *("7", "[]", "null", "{", "\udc80", "[" * 100_000),
    *('{"format": 2}', '{"format": 2, "task": "magic"}', '{"format": 2, "task": []}', '{"format": []}'),
]


@pytest.mark.parametrize("facts", FACTS)
def test_run_json(run: Path, facts: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").write_bytes(facts.encode("utf-8", "surrogateescape"))
    assert main(["translate", str(run), "abc"]) == 2
    error = capsys.readouterr().err
    assert "run.json" in error and error.count("\n") == 1 and len(error) < 1200


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width = 16", "width = 65536"),  # gigabytes, which the file of weights does not hold
        ("width = 16", "width = 1000000000000"),
        ("width = 16", f"width = {'9' * 5000}"),
        ("width = 16", f"width = {'[' * 10_000}"),
        ("width = 16", "width = true"),
        ("depth = 1", "depth = 100000000"),
        ('preset = "lstm-dot"', 'preset = "\\u0000"'),
        ('preset = "lstm-dot"', f'"{"x" * 1_000_000}" = 1'),
        ("[model]", '[model]\n"a\\u001b[31m" = 1'),
    ],
)
def test_recipe_toml(run: Path, old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (run / "recipe.toml").read_text()
    assert old in text
    (run / "recipe.toml").write_text(text.replace(old, new, 1))
    assert main(["translate", str(run), "abc"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and len(error) < 1200 and "\x1b" not in error


def test_examples_and_metrics(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = np.random.default_rng(1).integers(0, 256, 4000, np.uint8).tobytes() + b"\n"
    for line in (noise, b"[]\n", b'{"source": 1, "target": "a"}\n', b"[" * 100_000 + b"\n"):
        (run / "data" / "test.jsonl").write_bytes(line)
        assert main(["evaluate", str(run)]) == 2
        error = capsys.readouterr().err
        assert "test.jsonl:1: this is not a pair" in error and error.count("\n") == 1
    kept = read_metrics(run / "metrics.jsonl")
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(noise + b'7\n{"step": "x"}\n' + b"[" * 100_000 + b"\n")
    assert kept and read_metrics(run / "metrics.jsonl") == kept


def test_a_training_state_of_integers(run: Path) -> None:
    of_integers(run / "training.safetensors")
    (run / "training.previous.safetensors").unlink(missing_ok=True)
    with pytest.raises(regard.UserError, match=r"training\.safetensors.*(recipe|damaged)"):
        regard.train({}, run, resume=True)
