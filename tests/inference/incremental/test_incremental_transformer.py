"""One product a layer, one tensor of keys and values: the steps are the model's."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import decode
from regard.inference.incremental import stepping
from regard.inference.incremental.transformer import ROOM, Cache, SteppingTransformer, with_room
from regard.nn.taps import watching

SOURCES = [[5, 3, 4, 8, 7, 6], [3], [], [4, 4, 5, 3, 3], [6, 8]]
KINDS = [
    {},
    {"positions": "rotary", "heads": 2, "width": 8},
    {"positions": "alibi"},
    {"positions": "learned", "norm": "post"},
    {"positions": "none", "norm": "none"},
    {"head_layout": "full", "encoder_width": 9, "activation": "gelu"},
    {"encoder": "rnn"},
]


@pytest.mark.parametrize("fields", KINDS, ids=str)
def test_steps_are_the_models(tiny, rows, fields) -> None:
    """After a prefix of two tokens, three rows to a source as beams have it, and into a larger room. In float64: sums
    are taken in another order, and what that is worth in float32 differs by the processor."""
    model = tiny("transformer", depth=2, **fields).double()
    ready = stepping(model)
    assert isinstance(ready.decoder, SteppingTransformer)
    with torch.inference_mode():
        memory = model.encode(rows.source, rows.mask)
        (expected, plain), (found, state) = (
            one.step(rows.target[:, :2], memory, one.start(memory)) for one in (model, ready)
        )
        torch.testing.assert_close(found, expected)
        order = torch.tensor([1, 0, 0, 3, 3, 3, 6, 7, 7, 9, 10, 9]) // 3
        plain, state = plain.rearrange(order, None), state.rearrange(order, None)
        for step in range(ROOM):
            tokens = (torch.arange(12)[:, None] + step) % 11
            (logits, plain), (found, state) = (
                model.step(tokens, memory.begun(), plain),
                ready.step(tokens, memory.begun(), state),
            )
            torch.testing.assert_close(found, logits, rtol=1e-6, atol=1e-6)
    assert isinstance(state, Cache) and state.length == ROOM + 2 <= state.past.shape[3]


@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 2}], ids=str)
def test_searches_find_the_same(tiny, search) -> None:
    model = tiny("transformer", depth=2, positions="rotary", width=8, heads=2)
    config, prefixes = SearchSettings(max_tokens=2 * ROOM, **search), [[], [7, 8], [3], [], [9, 9]]
    plain, found = (decode(one, SOURCES, config, prefixes) for one in (model, stepping(model)))
    for expected, each in zip(plain, found, strict=True):
        assert [one.tokens for one in each] == [one.tokens for one in expected]
        assert [one.score for one in each] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_turns_beyond_those_made_ready(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("transformer", depth=2, positions="rotary", width=8, heads=2)
    config = SearchSettings(max_tokens=9, beams=2)
    expected = decode(stepping(model), SOURCES, config)
    monkeypatch.setattr("regard.inference.incremental.transformer.TURNED", 4)
    found = decode(stepping(model), SOURCES, config)
    assert max(len(one.tokens) for [one] in found) > 5
    assert [one.tokens for [one] in found] == [one.tokens for [one] in expected]
    assert [one.score for [one] in found] == pytest.approx([one.score for [one] in expected], abs=1e-5)


def test_who_watches_sees_every_head(tiny, rows) -> None:
    model = tiny("transformer", depth=2)
    seen = []
    for one in (model, stepping(model)):
        with torch.inference_mode(), watching(model) as watch:
            memory = one.encode(rows.source, rows.mask)
            one.step(rows.target[:, :1], memory, one.start(memory))
        seen.append(watch.tensors())
    assert seen[0].keys() == seen[1].keys()
    assert all(torch.equal(seen[0][name], seen[1][name]) for name in seen[0])


def test_a_larger_room_holds_what_was_there() -> None:
    past = torch.randn(2, 3, 4, 5, 6)
    assert with_room(past, 3, 5) is past
    larger = with_room(past, 5, 6)
    assert larger.shape == (2, 3, 4, 8, 6) and torch.equal(larger[:, :, :, :5], past)
