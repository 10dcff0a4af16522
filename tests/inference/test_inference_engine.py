"""One decision on the engine: by name, or by the search and the number of sources; never by the order of calls."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import torch

from regard.checkpoint import load_run
from regard.config import SearchSettings
from regard.errors import UserError
from regard.inference.engine import MANY, DecodingModel, choose_engine
from regard.inference.ensemble import Ensemble
from regard.nn.taps import watching

GREEDY = SearchSettings(beams=1)


@pytest.fixture
def run(translator_run: Path, tmp_path: Path):
    """A copy, for a CTranslate2 model is built in it."""
    return load_run(shutil.copytree(translator_run, tmp_path / "run", ignore=shutil.ignore_patterns("ctranslate2-*")))


def test_torch_is_chosen_by_name_and_where_there_is_no_run(run) -> None:
    assert choose_engine(DecodingModel(run.model, run, "torch"), GREEDY, 1000) == "torch"
    assert choose_engine(DecodingModel(run.model), GREEDY, 1000) == "torch"
    assert choose_engine(DecodingModel(run.model, None, "auto"), GREEDY, 1000) == "torch"


def test_auto_takes_ctranslate2_only_where_outputs_are_equal(run) -> None:
    pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
    auto = DecodingModel(run.model, run, "auto")
    for fields, count, engine in (
        ({}, MANY, "ctranslate2"),
        ({}, MANY - 1, "torch"),
        ({"beams": 2}, MANY, "torch"),
        ({"short_list": True}, MANY, "torch"),
        ({"sample": True}, MANY, "torch"),
    ):
        assert choose_engine(auto, GREEDY.model_copy(update=fields), count) == engine, fields
    with watching(run.model):
        assert choose_engine(auto, GREEDY, MANY) == "torch"
    assert choose_engine(DecodingModel(Ensemble([run.model]), run, "auto"), GREEDY, MANY) == "torch"
    assert not (run.path / "ctranslate2-float32").exists()  # nothing is built by choosing
    named = DecodingModel(run.model, run, "ctranslate2-int8")
    assert choose_engine(named, SearchSettings(beams=4), 1) == "ctranslate2-int8"
    assert choose_engine(named, SearchSettings(sample=True), 1) == "torch"


def test_a_named_engine_is_refused_where_it_cannot_run(run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="--engine ctranslate2-int8: "):
        DecodingModel(Ensemble([run.model]), run, "ctranslate2-int8")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)  # as if it were not installed
    with pytest.raises(UserError, match="ctranslate2 is not installed"):
        DecodingModel(run.model, run, "ctranslate2")
    assert choose_engine(DecodingModel(run.model, run, "auto"), GREEDY, MANY) == "torch"


def test_auto_decodes_by_torch_where_no_model_can_be_built(run, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = pytest.importorskip("regard.inference.ctranslate2.decoder", reason="the extra [fast] is not installed")
    pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(decoder, "built_model", refuse)
    sources = [[3 + row % 5, 4] for row in range(MANY)]
    decoded = dict(DecodingModel(run.model, run, "auto").decode(sources, GREEDY))
    assert decoded == dict(DecodingModel(run.model, run, "torch").decode(sources, GREEDY))
    with pytest.raises(UserError, match=r"Permission denied.*--engine torch"):
        DecodingModel(run.model, run, "ctranslate2")


def test_a_change_of_the_weights_in_place_is_decoded_with(run) -> None:
    pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
    sources = [[3 + row % 5, 4, 5] for row in range(MANY)]
    for engine in ("torch", "ctranslate2"):
        model = DecodingModel(run.model, run, engine)
        before = dict(model.decode(sources, GREEDY))
        with torch.no_grad():
            run.model.output_layer.bias[7] += 50
        after = dict(model.decode(sources, GREEDY))
        assert all(7 in after[row][0].tokens for row in range(MANY)), engine
        assert any(7 not in before[row][0].tokens for row in range(MANY)), engine
        with torch.no_grad():
            run.model.output_layer.bias[7] -= 50
