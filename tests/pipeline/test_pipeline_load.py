"""regard.load gives the right kind of pipeline, with the weights of the run."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

import regard
from regard.checkpoint import load_run


def test_kinds(translator_run: Path, language_run: Path, classifier_run: Path) -> None:
    assert isinstance(regard.load(translator_run), regard.Translator)
    assert isinstance(regard.load(language_run), regard.TextGenerator)
    assert isinstance(regard.load(classifier_run), regard.Classifier)


def test_a_run_is_portable(translator_run: Path, translator: regard.Pipeline, tmp_path: Path) -> None:
    moved = shutil.copytree(translator_run, tmp_path / "elsewhere")
    source = translator.run.examples("test")[3].source
    assert regard.load(moved).translate(source) == translator.translate(source)


def test_a_run_holds_no_pickle(translator_run: Path) -> None:
    suffixes = {path.suffix for path in translator_run.rglob("*") if path.is_file()}
    assert suffixes <= {".toml", ".json", ".jsonl", ".safetensors", ".svg"}


def test_weights_are_those_of_the_run(translator_run: Path) -> None:
    once, again = load_run(translator_run).model, load_run(translator_run).model
    for (name, one), (_, other) in zip(once.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(one, other), name
