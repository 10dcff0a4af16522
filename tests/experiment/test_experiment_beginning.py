"""A run that begins with another has its tokenizers and whatever fits of its weights, and says what does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.checkpoint import load_run, read_weights
from regard.config import RunConfig, merge, settle
from regard.errors import UserError
from regard.experiment import run_experiment
from regard.experiment.material import begin
from regard.experiment.opening import opening
from regard.training.state import new_state
from regard.weights import weights_of

EARLIER: dict[str, Any] = {
    "data": {"corpus": "copy", "examples": 120, "dev_examples": 20, "test_examples": 10, "lengths": "1-5"},
    "model": {"preset": "transformer", "width": 16, "depth": 2, "heads": 2, "ffn_width": 24, "positions": "rotary"},
    "training": {"steps": 4, "batch_tokens": 128, "evaluate_every": 2, "threads": 1},
}
LATER = {"data": {**EARLIER["data"], "corpus": "reverse"}, "training": EARLIER["training"]}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("earlier") / "run"
    run_experiment(settle(EARLIER), out, progress=False)
    return out


def later(earlier: Path, **sections: dict[str, Any]) -> RunConfig:
    return settle(merge(LATER, {"training": {"begin": str(earlier)}}, sections))


def test_with_other_pairs_alone_all_of_it_is_taken(earlier: Path) -> None:
    found, theirs = begin(later(earlier)), load_run(earlier)
    assert found.config.model == theirs.config.model and found.config.tokenizer == theirs.config.tokenizer
    assert found.source.tokens([4, 5, 6]) == theirs.source_tokenizer.tokens([4, 5, 6])
    assert found.lent == found.parameters
    assert found.config.training.tables == "random"
    for name, weight in weights_of(theirs.model).items():
        assert torch.equal(weights_of(found.model)[name], weight), name
    lines = opening(found, new_state(found.model, found.config.training), {})
    assert f"begins with {earlier}, which lends {found.parameters:,} of the parameters" in lines


def test_a_student_has_the_layers_that_there_are(earlier: Path) -> None:
    """Three layers of encoder and one of decoder, of two and two; what its preset leaves open is its teacher's."""
    student = {"preset": "transformer-deep-shallow", "encoder_depth": 3, "dropout": 0.4}
    found, theirs = begin(later(earlier, model=student)), read_weights(earlier)
    model = found.config.model
    assert (model.width, model.heads, model.ffn_width, model.positions) == (16, 2, 24, "rotary")
    assert (model.encoder_depth, model.decoder_depth, model.dropout) == (3, 1, 0.4)
    own = weights_of(found.model)
    fresh = {name for name in own if name.startswith("encoder.layers.2.")}
    assert fresh and fresh == {name for name in own if name not in theirs}
    assert any(name.startswith("decoder.layers.1.") for name in theirs)
    assert all(torch.equal(weight, theirs[name]) for name, weight in own.items() if name not in fresh)
    assert found.lent == found.parameters - sum(own[name].numel() for name in fresh)


def test_another_kind_of_model_takes_the_tables_alone(earlier: Path) -> None:
    found = begin(later(earlier, model={"preset": "lstm-additive", "width": 16}))
    table = read_weights(earlier)["encoder.embedding.weight"]
    assert torch.equal(weights_of(found.model)["encoder.embedding.weight"], table)
    assert found.config.model.decoder == "rnn" and table.numel() <= found.lent < found.parameters


def test_it_goes_on_without_the_other(earlier: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(earlier, tmp_path / "moved")
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    run_experiment(later(moved), whole, progress=False)
    run_experiment(later(moved, training={"steps": 2}), parted, progress=False)
    shutil.rmtree(moved)
    run_experiment(settle({"training": {"steps": 4}}), parted, resume=True, progress=False)
    assert load_run(parted).config.training.begin == str(moved)
    assert (parted / "last.safetensors").read_bytes() == (whole / "last.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"tokenizer": {"kind": "bpe"}}, ["tokenizer.kind = 'bpe'", "'character'", "leave it out"]),
        ({"model": {"preset": "transformer", "width": 20}}, ["none of its matrices fits", "leave it out"]),
        ({"model": {"preset": "transformer-classifier"}}, ["reads text and writes", "tells classes", "the same"]),
        ({"model": {"preset": "transformer-language"}}, ["reads text and writes", "is a language model"]),
        ({"training": {"begin": "nowhere"}}, ["nowhere is not a directory"]),
    ],
    ids=["tokenizer", "width", "classes", "language", "nowhere"],
)
def test_what_does_not_go_together_is_refused(earlier: Path, sections: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        begin(later(earlier, **sections))
    assert all(word in str(refused.value) for word in words), refused.value


def test_a_run_that_has_not_looked_yet_cannot_lend(earlier: Path, tmp_path: Path) -> None:
    young = shutil.copytree(earlier, tmp_path / "young")
    (young / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors is missing: the run has not looked at its dev set yet"):
        begin(later(young))
