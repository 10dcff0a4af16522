"""A run that begins with another has its tokenizers and whatever fits of its weights, and says what does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.checkpoint import load_run
from regard.config import Settings, merge, settle
from regard.errors import UserError
from regard.experiment import run_experiment
from regard.experiment.banner import banner
from regard.experiment.setup import new_setup
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


def later(earlier: Path, **sections: dict[str, Any]) -> Settings:
    return settle(merge(LATER, {"training": {"init_from": str(earlier)}}, sections))


def test_with_other_pairs_alone_all_of_it_is_taken(earlier: Path) -> None:
    found, theirs = new_setup(later(earlier)), load_run(earlier)
    assert found.plan.model == theirs.plan.model and found.plan.tokenizer == theirs.plan.tokenizer
    assert found.source.tokens([4, 5, 6]) == theirs.source_codec.tokens([4, 5, 6])
    assert found.copied == found.parameters
    for name, weight in weights_of(theirs.model).items():
        assert torch.equal(weights_of(found.model)[name], weight), name
    lines = banner(found, new_state(found.model, found.plan.training), {})
    assert f"initialised from {earlier}: {found.parameters:,} of the parameters are copied" in lines


def test_a_student_has_the_layers_that_there_are(earlier: Path) -> None:
    """Three layers of encoder and one of decoder, of two and two; what its preset leaves open is its teacher's."""
    student = {"preset": "transformer-deep-shallow", "encoder_depth": 3, "dropout": 0.4}
    found, theirs = new_setup(later(earlier, model=student)), weights_of(load_run(earlier).model)
    model = found.plan.model
    assert (model.width, model.heads, model.ffn_width, model.positions) == (16, 2, 24, "rotary")
    assert (model.encoder_depth, model.decoder_depth, model.dropout) == (3, 1, 0.4)
    own = weights_of(found.model)
    fresh = {name for name in own if name.startswith("encoder.layers.2.")}
    assert fresh and fresh == {name for name in own if name not in theirs}
    assert any(name.startswith("decoder.layers.1.") for name in theirs)
    assert all(torch.equal(weight, theirs[name]) for name, weight in own.items() if name not in fresh)
    assert found.copied == found.parameters - sum(own[name].numel() for name in fresh)


def test_another_kind_of_model_takes_the_tables_alone(earlier: Path) -> None:
    """One table that is tied becomes three that are not."""
    found = new_setup(later(earlier, model={"preset": "lstm-additive", "width": 16, "tied_embeddings": False}))
    own, theirs = found.model.state_dict(), load_run(earlier).model.state_dict()
    table, bias = theirs["encoder.embedding.weight"], theirs["decoder.output.bias"]
    for name in ("encoder.embedding.weight", "decoder.embedding.weight", "decoder.output.weight"):
        assert torch.equal(own[name], table), name
    assert found.plan.model.decoder == "rnn" and found.copied == 3 * table.numel() + bias.numel()


def test_a_depth_of_ones_own_is_that_of_both_sides(earlier: Path, tmp_path: Path) -> None:
    deep = merge(EARLIER, {"model": {"encoder_depth": 3, "decoder_depth": 1}})
    run_experiment(settle(deep), tmp_path / "deep", progress=False)
    names = weights_of(new_setup(later(tmp_path / "deep", model={"depth": 2})).model)
    for side in ("encoder", "decoder"):
        assert {name.split(".")[2] for name in names if name.startswith(f"{side}.layers.")} == {"0", "1"}


def test_what_the_other_has_and_this_cannot_is_left_out(tmp_path: Path) -> None:
    """Attention with tokens in its query, for a model without attention: only what both have is taken over."""
    asking = {"model": {"preset": "lstm-additive", "width": 16, "depth": 1, "query": "state-and-token"}}
    run_experiment(settle({**EARLIER, **asking}), tmp_path / "asking", progress=False)
    found = new_setup(later(tmp_path / "asking", model={"preset": "lstm-fixed", "width": 16}))
    assert found.plan.model.query == "state" and 0 < found.copied < found.parameters


def test_images_are_read_in_the_size_that_is_asked_for(tmp_path: Path) -> None:
    data = {"corpus": "shapes", "examples": 24, "dev_examples": 6, "test_examples": 6}
    small = {"data": data, "model": {"preset": "image-lstm", "width": 16, "image_size": 32}}
    training = {"steps": 2, "evaluate_every": 2, "threads": 1}
    run_experiment(settle({**small, "training": training}), tmp_path / "small", progress=False)
    larger = {"data": data, "training": {**training, "init_from": str(tmp_path / "small")}, "model": {"image_size": 64}}
    result = run_experiment(settle(larger), tmp_path / "larger", progress=False)
    assert result.plan.model.image_size == 64 and result.plan.model.width == 16


def test_classes_that_the_other_does_not_know_are_counted(tmp_path: Path) -> None:
    def examples(names: str) -> str:
        return "".join(f"{name * (1 + i % 4)}\t{name}\n" for i in range(30) for name in names)

    settings = {"model": {"preset": "lstm-classifier", "width": 16}, "training": EARLIER["training"]}
    for file, names in (("old", "ab"), ("new", "abc")):
        (tmp_path / f"{file}.tsv").write_text(examples(names), encoding="utf-8")
    old = {"data": {"pairs": str(tmp_path / "old.tsv"), "dev_examples": 8, "test_examples": 8}}
    run_experiment(settle({**settings, **old}), tmp_path / "run", progress=False)
    new = {"data": {**old["data"], "pairs": str(tmp_path / "new.tsv")}}
    found = new_setup(settle(merge(new, {"training": {**EARLIER["training"], "init_from": str(tmp_path / "run")}})))
    assert found.copied == found.parameters and found.skipped["its class is none of the model's"] > 0


def test_it_goes_on_without_the_other(earlier: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(earlier, tmp_path / "moved")
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    run_experiment(later(moved), whole, progress=False)
    run_experiment(later(moved, training={"steps": 2}), parted, progress=False)
    shutil.rmtree(moved)
    run_experiment(settle({"training": {"steps": 4}}), parted, resume=True, progress=False)
    assert load_run(parted).plan.training.init_from == str(moved)
    assert (parted / "last.safetensors").read_bytes() == (whole / "last.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"tokenizer": {"kind": "bpe"}}, ["tokenizer.kind = 'bpe'", "'character'", "leave it out"]),
        ({"model": {"preset": "transformer", "width": 20}}, ["none of its matrices fits", "leave it out"]),
        ({"model": {"preset": "transformer-classifier"}}, ["reads text and writes", "tells classes", "the same"]),
        ({"model": {"preset": "transformer-language"}}, ["reads text and writes", "is a language model"]),
        ({"training": {"init_from": "nowhere"}}, ["nowhere is not a directory"]),
    ],
    ids=["tokenizer", "width", "classes", "language", "nowhere"],
)
def test_what_does_not_go_together_is_refused(earlier: Path, sections: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        new_setup(later(earlier, **sections))
    assert all(word in str(refused.value) for word in words), refused.value


def test_a_run_that_has_not_looked_yet_cannot_lend(earlier: Path, tmp_path: Path) -> None:
    young = shutil.copytree(earlier, tmp_path / "young")
    (young / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors is missing: the run has had no validation yet"):
        new_setup(later(young))
