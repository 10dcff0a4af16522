"""Settings at the edge of what TOML and Python can say."""

from __future__ import annotations

import pytest
from tiny_plans import tiny_plan

from regard.config import parse_plan, recipe_text, settle
from regard.errors import UserError


@pytest.mark.parametrize("preset", [3, ["transformer"], {"name": "transformer"}, True])
def test_a_preset_that_is_no_name_is_one_line(preset: object) -> None:
    with pytest.raises(UserError, match=r"model\.preset = "):
        settle({"model": {"preset": preset}})


@pytest.mark.parametrize("encoder", ["convolution", "rnn"])
def test_a_convolution_decoder_has_heads_too(encoder: str) -> None:
    """Its look at the memory is multi-head attention: heads that do not divide the width would lose columns."""
    with pytest.raises(UserError, match=r"model\.heads = 4 does not divide the decoder's width 10"):
        settle({"model": {"encoder": encoder, "decoder": "convolution", "width": 10, "positions": "learned"}})
    settle({"model": {"encoder": "convolution", "decoder": "rnn", "width": 10, "positions": "learned"}})


def test_rotary_positions_turn_self_attention_only() -> None:
    """A recurrent decoder's look at the memory has heads of any width."""
    widths = {"encoder_width": 16, "decoder_width": 12, "heads": 4}
    settle(
        {"model": {"encoder": "transformer", "decoder": "rnn", "score": "multi-head", "positions": "rotary", **widths}}
    )


def test_endless_numbers_are_refused() -> None:
    with pytest.raises(UserError, match=r"training\.rate = inf"):
        settle({"training": {"rate": float("inf")}})


@pytest.mark.parametrize("corpus", ["a\x7fb", 'a"b\\c', "tab\tand\nline", "😀 é \u2028"])
def test_any_character_survives_a_recipe(corpus: str) -> None:
    plan = tiny_plan({"data": {"corpus": corpus}})
    assert parse_plan(recipe_text(plan), "recipe.toml") == plan
