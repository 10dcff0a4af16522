"""A pointer in incremental decoding: the steps and the searches are the model's."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import decode
from regard.inference.incremental.cached_model import PackedModel, incremental
from regard.inference.incremental.model import stepwise
from regard.inference.incremental.pointer import IncrementalPointer
from regard.inference.shortlist import ShortListed
from regard.nn.copying import mix

SOURCES = [[5, 3, 4, 8, 7, 6], [3], [], [4, 4, 5, 3, 3], [6, 8]]


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive"])
def test_steps_are_the_models(tiny, rows, preset: str) -> None:
    """Two rows to a source, as beams have it."""
    model = tiny(preset, shared=True, depth=1, pointer=True)
    plain, fast = stepwise(model), incremental(model)
    assert isinstance(fast, IncrementalPointer)
    twice = torch.arange(4).repeat_interleave(2)
    with torch.inference_mode():
        whole, memory = (version.encode(rows.source, rows.mask) for version in (plain, fast))
        expected, before = plain.step(rows.target[:, :2], whole, plain.start(whole))
        logits, state = fast.step(rows.target[:, :2], memory, fast.start(memory))
        torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-4)
        whole, before, state = whole.select(twice), before.select(twice), state.select(twice)
        for column in range(3):
            tokens = (rows.target[:, column].repeat_interleave(2) + torch.arange(8))[:, None] % 11
            (expected, before), (logits, state) = plain.step(tokens, whole, before), fast.step(tokens, memory, state)
            torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive", "convolution"])
@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}], ids=str)
def test_searches_find_the_same(tiny, search: dict, preset: str) -> None:
    model = tiny(preset, shared=True, depth=1, pointer=True)
    fast = incremental(model)
    assert isinstance(fast, PackedModel if preset == "convolution" else IncrementalPointer)
    config = SearchSettings(max_tokens=9, **search)
    for expected, hypotheses in zip(*(decode(one, SOURCES, config) for one in (model, fast)), strict=True):
        assert [one.tokens for one in hypotheses] == [one.tokens for one in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-4)


@torch.inference_mode()
def test_a_shortlist_and_an_ensemble_keep_what_is_copied(tiny, rows) -> None:
    model = tiny("transformer", shared=True, depth=1, pointer=True)
    ids = torch.tensor([0, 1, 2, 4, 7, 9])
    short = ShortListed(incremental(model), ids)
    features = model.features(rows.source, rows.mask, ids[rows.target % 6])
    states, gate, copied = features.split([12, 1, 11], dim=-1)
    expected = mix(model.decoder.output(states)[..., ids], gate, copied[..., ids])
    torch.testing.assert_close(short(rows.source, rows.mask, rows.target % 6), expected, atol=2e-5, rtol=1e-4)
    ensemble = tiny("ensemble", shared=True, depth=1, pointer=True)
    mean = torch.stack([member(rows.source, rows.mask, rows.target).exp() for member in map(stepwise, _members(tiny))])
    found = incremental(ensemble)(rows.source, rows.mask, rows.target)
    torch.testing.assert_close(found.softmax(-1), mean.mean(0), atol=2e-5, rtol=1e-4)


def _members(tiny) -> list:
    names = ("transformer", "lstm-additive", "convolution")
    return [tiny(name, shared=True, depth=1, pointer=True) for name in names]
