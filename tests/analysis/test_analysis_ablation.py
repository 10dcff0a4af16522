"""Interventions change what they say they change, and nothing else."""

from __future__ import annotations

import pytest
import torch

from regard.analysis.ablation import changed, force, patch, permute, silence, uniform, without
from regard.config import plan_model, settle
from regard.errors import UserError
from regard.models.build import build_model
from regard.nn.taps import watching

WEIGHTS = torch.tensor([[[[0.7, 0.3, 0.0]], [[0.2, 0.2, 0.6]]]])  # (1, 2, 1, 3)


def test_replacements() -> None:
    assert silence(0)(WEIGHTS).tolist() == [[[[0, 0, 0]], WEIGHTS[0, 1].tolist()]]
    torch.testing.assert_close(uniform()(WEIGHTS)[0, :, 0], torch.tensor([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]]))
    shuffled = permute(seed=5)(WEIGHTS)
    assert sorted(shuffled[0, 0, 0].tolist()) == sorted(WEIGHTS[0, 0, 0].tolist())
    assert permute(seed=5)(WEIGHTS).equal(shuffled)
    forced = force(torch.tensor([[0.0, 1.0, 0.0]]), head=1)(WEIGHTS)
    assert forced[0, 1, 0].tolist() == [0, 1, 0] and forced[0, 0].equal(WEIGHTS[0, 0])
    assert patch(torch.ones(2))(torch.zeros(2)).tolist() == [1, 1]
    with pytest.raises(UserError, match="heads 0 to 1"):
        silence(2)(WEIGHTS)


def test_without_in_a_model() -> None:
    """Silencing every head of the only cross-attention makes the output independent of the source."""
    config = plan_model(settle({"model": {"preset": "transformer", "width": 8, "heads": 2, "depth": 1}}).model)
    model = build_model(config, 9, 9, False, seed=1).eval()
    mask, target = torch.ones(1, 4, dtype=torch.bool), torch.tensor([[1, 5, 6]])
    one, other = torch.tensor([[3, 4, 5, 2]]), torch.tensor([[6, 7, 8, 2]])
    name = "decoder.layers.0.cross_attention"
    with torch.inference_mode():
        whole = model(one, mask, target)
        assert not whole.allclose(model(other, mask, target))
        with watching(model, without(model, [f"{name}.0", f"{name}.1"]), record=False) as watch:
            left = model(one, mask, target)
            torch.testing.assert_close(left, model(other, mask, target))
        assert not watch.recorded
        assert not left.allclose(whole)
        torch.testing.assert_close(model(one, mask, target), whole)
    with pytest.raises(UserError, match=r"decoder\.nope"):
        without(model, ["decoder.nope"])


def test_uniform_and_silent_heads_of_one_attention() -> None:
    config = plan_model(settle({"model": {"preset": "transformer", "width": 8, "heads": 2, "depth": 1}}).model)
    model = build_model(config, 9, 9, False, seed=1).eval()
    name = "decoder.layers.0.cross_attention"
    ids, mask = torch.tensor([[3, 4, 5, 2]]), torch.ones(1, 4, dtype=torch.bool)
    with torch.inference_mode(), watching(model, changed(model, [f"{name}.1"], [name])) as watch:
        model(ids, mask, torch.tensor([[1, 5, 6]]))
    weights = watch.tensors()[f"{name}.weights"]
    torch.testing.assert_close(weights[0, 0], torch.full((3, 4), 0.25))  # uniform
    assert not weights[0, 1].any()  # silent, though its attention is uniform
    with pytest.raises(UserError, match="heads 0 to 1"):
        changed(model, flattened=[f"{name}.2"])
