"""Descriptions count what is there."""

from __future__ import annotations

import pytest

from regard.analysis.describe import blueprint, describe, render
from regard.config import PRESETS, plan_model, settle
from regard.models.build import build_model


@pytest.mark.parametrize("name", PRESETS)
def test_counts_equal_the_real_model(name: str) -> None:
    config = plan_model(settle({"model": {"preset": name, "width": 8, "heads": 2}}).model)
    shared = config.encoder == "none"
    described = describe(blueprint(config, 11, 11 if shared else 13, shared), name, "")
    real = build_model(config, 11, 11 if shared else 13, shared, seed=0)
    assert described.parameters == sum(parameter.numel() for parameter in real.parameters())
    assert {part.name for part in described.parts} <= {module for module, _ in real.named_modules()}
    assert f"{described.parameters:,}" in render(described)


def test_cost_of_a_small_transformer_by_hand() -> None:
    """Width 6, one head, one layer, feed-forward 10, vocabulary 7."""
    fields = {"preset": "transformer", "width": 6, "heads": 1, "depth": 1, "ffn_width": 10}
    described = describe(blueprint(plan_model(settle({"model": fields}).model), 7, 7, True), "", "")
    square, ffn = 6 * 6, 2 * 6 * 10
    assert described.source_token.fixed == (4 * square + ffn) + 2 * square  # keys and values of the cross-attention
    assert described.target_token.fixed == (4 * square + 2 * square + ffn) + 7 * 6
    assert described.source_token.per_key == 2 * 6
    assert described.target_token.per_key == 2 * (2 * 6)


def test_an_rnn_costs_the_same_at_any_length() -> None:
    described = describe(blueprint(plan_model(settle({"model": {"preset": "rnn-fixed"}}).model), 7, 7, False), "", "")
    assert described.source_token.per_key == described.target_token.per_key == 0
    assert "whatever the length" in render(described)
