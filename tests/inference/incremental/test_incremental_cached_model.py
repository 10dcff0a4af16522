"""The incremental version of a model is built once, and again when its weights change; and which one it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.config import plan_model, settle
from regard.inference.incremental.cached_model import CachedInferenceModel, PackedModel, incremental
from regard.inference.incremental.model import StepwiseModel
from regard.models.build import build_model
from regard.nn.taps import watching

FIELDS = {"width": 16, "depth": 1, "heads": 2, "dropout": 0.3}


@pytest.mark.parametrize("preset", ["lstm-additive", "transformer"])
def test_when_it_is_built(preset: str) -> None:
    model = build_model(plan_model(settle({"model": {"preset": preset, **FIELDS}}).model), 11, 11, True, seed=1).eval()
    cached = CachedInferenceModel(model)
    first = cached.model()
    assert first is not model and cached.model() is first
    with watching(model):
        assert cached.model() is model
    with torch.no_grad():
        model.output_layer.weight.mul_(0.5)
    second = cached.model()
    assert second is not first and cached.model() is second


@pytest.mark.parametrize(
    ("preset", "fields"), [("lstm-additive", {"depth": 2}), ("lstm-dot", {}), ("gru-fixed", {}), ("convolution", {})]
)
def test_of_other_models_the_output_layer_alone_is_packed(tiny, rows, preset: str, fields) -> None:
    model = tiny(preset, **{"depth": 1, **fields})
    packed = incremental(model)
    assert isinstance(packed, PackedModel) and packed.model is model
    with torch.inference_mode():
        given = (rows.source, rows.mask, rows.target)
        torch.testing.assert_close(packed(*given), model(*given))


def test_a_language_model_has_no_faster_version(tiny) -> None:
    model = tiny("rnn-language", shared=True, depth=1)
    version = incremental(model)
    assert type(version) is StepwiseModel and version.model is model


def test_searches_do_not_change_the_mode_of_the_model(tmp_path: Path) -> None:
    """A model that translates between two steps of training stays in training mode, with dropout."""
    settings = {
        "data": {"corpus": "reverse", "lengths": "1-4", "examples": 200, "dev_examples": 20, "test_examples": 20},
        "model": {"preset": "transformer", **FIELDS},
        "training": {"steps": 2, "batch_tokens": 128, "threads": 1},
    }
    regard.train(settings, tmp_path / "run", progress=False)
    pipeline = regard.load(tmp_path / "run", 1)
    texts = ["abc", "a"]
    first = [result.text for result in pipeline.translate(texts)]
    pipeline.model.train()
    assert [result.text for result in pipeline.translate(texts)] == first
    assert all(module.training for module in pipeline.model.modules())
    assert not torch.is_inference_mode_enabled()
