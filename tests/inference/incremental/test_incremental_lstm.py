"""An LSTM with a table by token: the steps are the model's."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import decode
from regard.inference.incremental.cached_model import PackedModel, incremental
from regard.inference.incremental.lstm import IncrementalLSTM
from regard.inference.incremental.model import stepwise

SOURCES = [[5, 3, 4, 8, 7, 6], [3], [], [4, 4, 5, 3, 3], [6, 8]]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"encoder_width": 10, "decoder_width": 14},
        {"direction": "forward", "tied_embeddings": False},
        {"query": "state-and-token", "decoder_width": 14},
    ],
    ids=str,
)
def test_steps_are_the_models(tiny, rows, fields) -> None:
    """After a prefix of two tokens, two rows to a source as beams have it."""
    model = tiny("lstm-additive", depth=1, **fields)
    plain, fast = stepwise(model), incremental(model)
    assert isinstance(fast, IncrementalLSTM)
    twice = torch.arange(4).repeat_interleave(2)
    with torch.inference_mode():
        whole, memory = (version.encode(rows.source, rows.mask) for version in (plain, fast))
        expected, before = plain.step(rows.target[:, :2], whole, plain.start(whole))
        logits, state = fast.step(rows.target[:, :2], memory, fast.start(memory))
        torch.testing.assert_close(logits, expected)
        whole, before, state = whole.select(twice), before.select(twice), state.select(twice)
        for column in range(3):
            tokens = (rows.target[:, column].repeat_interleave(2) + torch.arange(8))[:, None] % 11
            (expected, before), (logits, state) = plain.step(tokens, whole, before), fast.step(tokens, memory, state)
            torch.testing.assert_close(logits, expected)
            torch.testing.assert_close(((state.hidden, state.cell),), before.layers)


@pytest.mark.parametrize("large", [1, 2**18], ids=["packed", "small"])
@pytest.mark.parametrize("query", ["state", "state-and-token"])
@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 2}], ids=str)
def test_searches_find_the_same(tiny, search, query: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.kernels.packed_linear.LARGE", large)
    model = tiny("lstm-additive", depth=1, query=query)
    config, prefixes = SearchSettings(max_tokens=9, **search), [[], [7, 8], [3], [], [9, 9]]
    versions = (model, incremental(model))
    for expected, hypotheses in zip(*(decode(one, SOURCES, config, prefixes) for one in versions), strict=True):
        assert [one.tokens for one in hypotheses] == [one.tokens for one in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_large_queries_are_clamped_as_in_the_model(tiny, rows) -> None:
    model = tiny("lstm-additive", depth=1)
    with torch.inference_mode():
        for side in (model.decoder.attention.score.query_proj, model.decoder.attention.score.key_proj):
            side.weight.mul_(2000)
        logits = [version(rows.source, rows.mask, rows.target[:, :1]) for version in (model, incremental(model))]
    torch.testing.assert_close(*logits)


def test_it_keeps_the_mode_and_the_weights(tiny) -> None:
    model = tiny("lstm-additive", depth=1, dropout=0.5)
    quiet, training = incremental(model), incremental(model.train())
    assert training.training and not quiet.training
    assert torch.equal(quiet.table, training.table), "no dropout in the table"
    assert model.training and quiet.encoder is model.encoder


@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_a_large_table_is_not_computed(tiny, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("lstm-additive", depth=1, query=query)
    size = incremental(model).table.numel()
    monkeypatch.setattr("regard.inference.incremental.lstm.LARGEST", size)
    assert isinstance(incremental(model), IncrementalLSTM)
    monkeypatch.setattr("regard.inference.incremental.lstm.LARGEST", size - 1)
    assert isinstance(incremental(model), PackedModel)
