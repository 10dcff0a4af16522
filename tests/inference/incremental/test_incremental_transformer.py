"""One product a layer, one tensor of keys and values: the steps are the model's."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import decode
from regard.inference.incremental.cached_model import incremental
from regard.inference.incremental.model import stepwise
from regard.inference.incremental.transformer import ROOM, IncrementalTransformer, TargetCache, with_room

SOURCES = [[5, 3, 4, 8, 7, 6], [3], [], [4, 4, 5, 3, 3], [6, 8]]
KINDS = [
    {},
    {"positions": "rotary", "heads": 2, "width": 8},
    {"positions": "alibi"},
    {"positions": "learned", "norm": "post"},
    {"positions": "none", "norm": "none"},
    {"head_layout": "full", "encoder_width": 9, "activation": "gelu"},
    {"encoder": "rnn"},
    {"attention_bias": True, "start": "zero", "activation": "silu", "norm": "post"},
]


@pytest.mark.parametrize("fields", KINDS, ids=str)
def test_steps_are_the_models(tiny, rows, fields) -> None:
    """After a prefix of two tokens, three rows to a source as beams have it, and into a larger room. In float64: sums
    are taken in another order, and what that is worth in float32 differs by the processor."""
    model = tiny("transformer", depth=2, **fields).double()
    plain, fast = stepwise(model), incremental(model)
    assert isinstance(fast, IncrementalTransformer)
    with torch.inference_mode():
        whole, memory = (version.encode(rows.source, rows.mask) for version in (plain, fast))
        expected, before = plain.step(rows.target[:, :2], whole, plain.start(whole))
        logits, state = fast.step(rows.target[:, :2], memory, fast.start(memory))
        torch.testing.assert_close(logits, expected)
        order = torch.tensor([1, 0, 0, 3, 3, 3, 6, 7, 7, 9, 10, 9]) // 3
        before, state = before.select(order), state.select(order)
        whole = whole.select(torch.arange(4).repeat_interleave(3))
        for step in range(ROOM):
            tokens = (torch.arange(12)[:, None] + step) % 11
            (expected, before), (logits, state) = plain.step(tokens, whole, before), fast.step(tokens, memory, state)
            torch.testing.assert_close(logits, expected, rtol=1e-6, atol=1e-6)
    assert isinstance(state, TargetCache) and state.length == ROOM + 2 <= state.keys_values.shape[3]


@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 2}], ids=str)
def test_searches_find_the_same(tiny, search) -> None:
    model = tiny("transformer", depth=2, positions="rotary", width=8, heads=2)
    config, prefixes = SearchSettings(max_tokens=2 * ROOM, **search), [[], [7, 8], [3], [], [9, 9]]
    plain, found = (decode(one, SOURCES, config, prefixes) for one in (model, incremental(model)))
    for expected, each in zip(plain, found, strict=True):
        assert [one.tokens for one in each] == [one.tokens for one in expected]
        assert [one.score for one in each] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_rotations_beyond_those_computed_before(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("transformer", depth=2, positions="rotary", width=8, heads=2)
    config = SearchSettings(max_tokens=9, beams=2)
    expected = decode(incremental(model), SOURCES, config)
    monkeypatch.setattr("regard.inference.incremental.transformer.ROTATIONS", 4)
    found = decode(incremental(model), SOURCES, config)
    assert max(len(one.tokens) for [one] in found) > 5
    assert [one.tokens for [one] in found] == [one.tokens for [one] in expected]
    assert [one.score for [one] in found] == pytest.approx([one.score for [one] in expected], abs=1e-5)


def test_a_larger_room_holds_what_was_there() -> None:
    past = torch.randn(2, 3, 4, 5, 6)
    assert with_room(past, 3, 5) is past
    larger = with_room(past, 5, 6)
    assert larger.shape == (2, 3, 4, 8, 6) and torch.equal(larger[:, :, :, :5], past)
