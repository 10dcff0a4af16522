"""A model is made ready once, and anew when its weights change."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.config import plan_model, settle
from regard.inference.incremental.prepared import Rehearsal
from regard.models.build import build_model
from regard.nn.taps import watching

FIELDS = {"width": 16, "depth": 1, "heads": 2, "dropout": 0.3}


@pytest.mark.parametrize("preset", ["lstm-additive", "transformer"])
def test_when_it_is_made_ready(preset: str) -> None:
    model = build_model(plan_model(settle({"model": {"preset": preset, **FIELDS}}).model), 11, 11, True, seed=1).eval()
    rehearsal = Rehearsal(model)
    ready = rehearsal.model()
    assert ready is not model and rehearsal.model() is ready
    with watching(model):
        assert rehearsal.model() is model
    with torch.no_grad():
        model.output_layer.weight.mul_(0.5)
    anew = rehearsal.model()
    assert anew is not ready and rehearsal.model() is anew


def test_searches_do_not_change_the_mode_of_the_model(tmp_path: Path) -> None:
    """Who translates between two steps of training goes on training, with dropout."""
    settings = {
        "data": {"corpus": "reverse", "lengths": "1-4", "examples": 200, "dev_examples": 20, "test_examples": 20},
        "model": {"preset": "transformer", **FIELDS},
        "training": {"steps": 2, "batch_tokens": 128, "threads": 1},
    }
    regard.train(settings, tmp_path / "run", progress=False)
    pipeline = regard.load(tmp_path / "run", 1)
    texts = ["abc", "a"]
    first = [one.text for one in pipeline.translate(texts)]
    pipeline.model.train()
    assert [one.text for one in pipeline.translate(texts)] == first
    assert all(module.training for module in pipeline.model.modules())
    assert not torch.is_inference_mode_enabled()
