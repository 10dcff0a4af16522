"""A run directory comes back as it was, and says in one line what is wrong with it when it does not."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_plans import tiny_plan

from regard.checkpoint import load_run, start_run
from regard.data.class_labels import ClassLabels
from regard.data.corpus import Example
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError
from regard.files import write_text
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.weights import load_weights, read_tensors, weights_of, write_tensors

EXAMPLES = [Example("a b", "b\ta"), Example("line\nbreak", "é \u2028 ü"), Example("", "x")]


def write_run(path: Path, preset: str = "transformer", shared: bool = True) -> torch.nn.Module:
    """A whole run with weights that were never trained."""
    small = {"preset": preset, "width": 8, "heads": 2, "depth": 1, "dropout": 0.1}
    plan = tiny_plan({"model": small, "tokenizer": {"kind": "character", "size": 300, "shared": shared}})
    source = Tokenizer.train([e.source for e in EXAMPLES], "character", 300)
    classes = plan.model.decoder == "none"
    separate = ClassLabels.train("xyz") if classes else Tokenizer.train([e.target for e in EXAMPLES], "character", 300)
    target = source if shared else separate
    model = fuse(build_model(plan.model, source.size, target.size, shared, seed=7))
    start_run(path, plan, source, target, {"dev": EXAMPLES, "test": EXAMPLES[:1]}, {"task": "translation"})
    write_tensors(path / "model.safetensors", weights_of(model))
    return model.eval()


def outputs(model: torch.nn.Module) -> torch.Tensor:
    source = torch.tensor([[260, 261, 2], [262, 2, 0]])
    with torch.no_grad():
        return model(source, source != 0, torch.tensor([[1], [1]]))


@pytest.mark.parametrize(
    ("preset", "shared"),
    [
        ("transformer", True),
        ("transformer", False),
        ("lstm-additive", False),
        ("transformer-language", True),
        ("lstm-classifier", False),
        ("convolution", True),
    ],
)
def test_save_and_load_give_identical_outputs(tmp_path: Path, preset: str, shared: bool) -> None:
    model = write_run(tmp_path / "run", preset, shared)
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(tmp_path / "run", tmp_path / "elsewhere" / "moved")
    run = load_run(moved)
    assert torch.equal(outputs(run.model), outputs(model))
    assert not run.model.training
    assert (run.source_codec is run.target_codec) == shared
    assert run.task == "translation" and run.plan.model.preset == preset
    assert run.examples("dev") == EXAMPLES and run.examples("test") == EXAMPLES[:1]


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path: Path) -> None:
    model = write_run(tmp_path / "run")
    stored, _ = read_tensors(tmp_path / "run" / "model.safetensors")
    assert sum(tensor.numel() for tensor in stored.values()) == sum(p.numel() for p in model.parameters())
    loaded = load_run(tmp_path / "run").model
    assert len(list(loaded.parameters())) == len(list(model.parameters()))


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(UserError) as caught:
        load_run(path)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_not_a_run(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "nowhere is not a directory")
    refused(tmp_path, "is not a run: it has no run.json")


@pytest.mark.parametrize("name", ["recipe.toml", "source.tokenizer.json", "target.tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "run", shared=False)
    (tmp_path / "run" / name).unlink()
    refused(tmp_path / "run", name, "missing")


def test_another_format_version(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    write_text(tmp_path / "run" / "run.json", json.dumps({**facts, "format": 3, "regard": "9.9"}))
    refused(tmp_path / "run", "format 3", "reads format 2", "use the regard 9.9 that wrote it")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3"])
def test_a_damaged_record(tmp_path: Path, text: str) -> None:
    write_run(tmp_path / "run")
    write_text(tmp_path / "run" / "run.json", text)
    refused(tmp_path / "run", "run.json is damaged")


def test_a_record_without_what_is_needed(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    write_text(tmp_path / "run" / "run.json", '{"format": 2}')
    refused(tmp_path / "run", "run.json is damaged: it has no 'task'")


@pytest.mark.parametrize("name", ["run.json", "recipe.toml"])
@pytest.mark.parametrize("method", ["stat", "open"])
def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, method: str) -> None:
    write_run(tmp_path / "run")
    original = getattr(Path, method)

    def denied(path: Path, *args: Any, **keywords: Any) -> Any:
        if path.name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return original(path, *args, **keywords)

    monkeypatch.setattr(Path, method, denied)
    refused(tmp_path / "run", f"{name} cannot be read (Permission denied)")


def test_damaged_weights(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    file = tmp_path / "run" / "model.safetensors"
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[-5] ^= 4
    for damaged in (b"", b"not weights at all", whole[:50], whole[:-10], bytes(flipped)):
        file.write_bytes(damaged)
        refused(tmp_path / "run", "model.safetensors is damaged")


def test_weights_of_another_recipe(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    write_run(tmp_path / "other", "lstm-dot")
    shutil.copy(tmp_path / "other" / "model.safetensors", tmp_path / "run")
    refused(tmp_path / "run", "model.safetensors lacks", "another recipe")
    one, two = torch.nn.Linear(3, 4), torch.nn.Linear(3, 5)
    with pytest.raises(UserError, match=r"'weight' has the shape \(5, 3\), and the model has \(4, 3\)"):
        load_weights(one, weights_of(two), "somewhere")


def test_a_damaged_tokenizer_and_recipe(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    write_text(tmp_path / "run" / "source.tokenizer.json", "{")
    refused(tmp_path / "run", "source.tokenizer.json")
    write_text(tmp_path / "run" / "recipe.toml", "[model")
    refused(tmp_path / "run", "recipe.toml is not TOML")


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "training.safetensors"
    write_tensors(file, {"last/a": torch.ones(3)}, {"step": 1})

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="the disk is full; make room and continue with --resume") as caught:
        write_tensors(file, {"last/a": torch.zeros(3)}, {"step": 2})
    assert str(file) in str(caught.value)
    tensors, numbers = read_tensors(file)
    assert torch.equal(tensors["last/a"], torch.ones(3)) and numbers == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_run(tmp_path / "file" / "run")
