"""What is multiplied out for a search gives what the model gives, and what is not, is left alone."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import decode
from regard.inference.incremental import SteppingRecurrence, stepping
from regard.nn.embedding import Ready
from regard.nn.taps import watching

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
    ready = stepping(model)
    assert isinstance(ready.decoder, SteppingRecurrence)
    with torch.inference_mode():
        memory = model.encode(rows.source, rows.mask)
        both = [(one, one.step(rows.target[:, :2], memory, one.start(memory))[1]) for one in (model, ready)]
        twice = torch.arange(4).repeat_interleave(2)
        both = [(one, state.rearrange(twice, None)) for one, state in both]
        for column in range(3):
            tokens = (rows.target[:, column].repeat_interleave(2) + torch.arange(8))[:, None] % 11
            (logits, plain), (found, state) = (one.step(tokens, memory.begun(), state) for one, state in both)
            torch.testing.assert_close(found, logits)
            torch.testing.assert_close(state.layers, plain.layers)
            both = [(model, plain), (ready, state)]


@pytest.mark.parametrize("large", [1, 2**18], ids=["packed", "small"])
@pytest.mark.parametrize("query", ["state", "state-and-token"])
@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 2}], ids=str)
def test_searches_find_the_same(tiny, search, query: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.kernels.packed_linear.LARGE", large)
    model = tiny("lstm-additive", depth=1, query=query)
    config, prefixes = SearchSettings(max_tokens=9, **search), [[], [7, 8], [3], [], [9, 9]]
    for plain, found in zip(
        decode(model, SOURCES, config, prefixes), decode(stepping(model), SOURCES, config, prefixes), strict=True
    ):
        assert [one.tokens for one in found] == [one.tokens for one in plain]
        assert [one.score for one in found] == pytest.approx([one.score for one in plain], abs=1e-4)


def test_queries_beyond_the_reach_are_taken_as_the_model_takes_them(tiny, rows) -> None:
    model = tiny("lstm-additive", depth=1)
    with torch.inference_mode():
        for side in (model.decoder.attention.score.query_proj, model.decoder.attention.score.key_proj):
            side.weight.mul_(2000)
        memory = model.encode(rows.source, rows.mask)
        found = [one.step(rows.target[:, :1], memory, one.start(memory))[0] for one in (model, stepping(model))]
    torch.testing.assert_close(*found)


def test_it_keeps_the_mode_and_the_weights(tiny) -> None:
    model = tiny("lstm-additive", depth=1, dropout=0.5)
    quiet, trained = stepping(model), stepping(model.train())
    assert trained.training and not quiet.training
    assert torch.equal(quiet.decoder.table, trained.decoder.table), "no dropout in what is kept"
    assert model.training and quiet.encoder is model.encoder


def test_who_watches_sees_the_attention(tiny, rows) -> None:
    model = tiny("lstm-additive", depth=1)
    seen = []
    for one in (model, stepping(model)):
        with torch.inference_mode(), watching(model) as watch:
            memory = one.encode(rows.source, rows.mask)
            one.step(rows.target[:, :1], memory, one.start(memory))
        seen.append(watch.tensors()["decoder.attention.weights"])
    assert torch.equal(*seen)


@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_a_large_table_is_not_made(tiny, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("lstm-additive", depth=1, query=query)
    size = stepping(model).decoder.table.numel()
    monkeypatch.setattr("regard.inference.incremental.LARGEST", size)
    assert stepping(model).decoder is not model.decoder
    monkeypatch.setattr("regard.inference.incremental.LARGEST", size - 1)
    assert stepping(model).decoder is model.decoder


@pytest.mark.parametrize(
    ("preset", "fields"), [("lstm-additive", {"depth": 2}), ("lstm-dot", {}), ("gru-fixed", {}), ("convolution", {})]
)
def test_of_others_the_output_layer_alone_is_made_ready(tiny, rows, preset: str, fields) -> None:
    model = tiny(preset, **{"depth": 1, **fields})
    ready = stepping(model)
    assert ready.decoder is model.decoder and isinstance(ready.output_layer, Ready)
    with torch.inference_mode():
        torch.testing.assert_close(
            ready(rows.source, rows.mask, rows.target), model(rows.source, rows.mask, rows.target)
        )


def test_a_language_model_is_left_alone(tiny) -> None:
    model = tiny("rnn-language", shared=True, depth=1)
    assert stepping(model) is model


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("whole", [True, False])
def test_an_encoder_reads_the_same_without_gradients(tiny, rows, cell: str, whole: bool) -> None:
    """torch's own kernels against ours: where rows end at one place, and where they do not."""
    model = tiny("lstm-additive", cell=cell, depth=2, encoder_width=10)
    source, mask = (rows.source[:2, :5], rows.mask[:2, :5]) if whole else (rows.source, rows.mask)
    assert bool(mask.all()) == whole
    expected = model.encode(source, mask)
    with torch.no_grad():
        found = model.encode(source, mask)
    torch.testing.assert_close(found.states[mask], expected.states[mask].detach())
    torch.testing.assert_close(found.summary, expected.summary.detach())
