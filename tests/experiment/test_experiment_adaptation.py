"""A run that begins with all of another: smaller steps by default, and parts that stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard import train
from regard.config import settle
from regard.data import load_corpus
from regard.errors import UserError
from regard.experiment import resolve
from regard.weights import read_tensors

DATA = {"corpus": "dates", "examples": 200, "dev_examples": 10, "test_examples": 10}
SHORT = {"steps": 4, "evaluate_every": 2, "threads": 1}
MODEL = {"preset": "transformer", "width": 16, "depth": 1, "heads": 2}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adaptation") / "earlier"
    train({"data": DATA, "model": MODEL, "training": SHORT}, path, progress=False)
    return path


def planned(**training: object):
    settings = settle({"data": DATA, "training": training})
    return resolve(settings, load_corpus(settings.data))


def test_the_rate_is_a_fifth(earlier: Path) -> None:
    plan = planned(init_from=str(earlier))
    fresh = settle({"data": DATA, "model": MODEL, "training": {"optimizer": "adam"}})
    usual = resolve(fresh, load_corpus(fresh.data)).training.rate
    assert plan.training.optimizer == "adam" and plan.training.average == 0
    assert plan.training.rate == pytest.approx(usual / 5, rel=0.1)
    assert "a fifth of the usual" in plan.reasons["training.rate"]
    assert planned(init_from=str(earlier), rate=1e-2).training.rate == 1e-2


def test_a_student_has_the_usual_rate(earlier: Path) -> None:
    settings = settle({"data": DATA, "model": MODEL, "training": {"init_from": str(earlier)}})
    assert "begins with" not in resolve(settings, load_corpus(settings.data)).reasons["training.rate"]


def test_only_the_decoder_is_trained(earlier: Path, tmp_path: Path) -> None:
    settings = {"data": DATA, "training": {**SHORT, "init_from": str(earlier), "train": "decoder", "rate": 1e-2}}
    train(settings, tmp_path / "run", progress=False)
    before, _ = read_tensors(earlier / "model.safetensors")
    after, _ = read_tensors(tmp_path / "run" / "last.safetensors")
    changed = {name.split(".")[0] for name in before if not before[name].equal(after[name])}
    assert changed == {"decoder"}
    state, _ = read_tensors(tmp_path / "run" / "training.safetensors")
    assert not [name for name in state if name.startswith("adam") and "/encoder." in name]
    train({"training": {"steps": 6}}, tmp_path / "run", resume=True, progress=False)


def test_what_has_no_encoder_cannot(tmp_path: Path) -> None:
    settings = {
        "data": DATA,
        "model": {"preset": "transformer-language", "width": 16},
        "training": {"train": "decoder"},
    }
    with pytest.raises(UserError, match="needs an encoder and a decoder"):
        train(settings, tmp_path / "run", progress=False)
