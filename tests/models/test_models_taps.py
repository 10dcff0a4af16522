"""Looking inside a model: every tap by its path, fused and open equal, weights that are distributions."""

from __future__ import annotations

import threading

import pytest
import torch

from regard.config import PRESETS
from regard.nn.taps import Tap, watched, watching

TEXTS = [name for name in PRESETS if not name.startswith("image-")]  # images: test_models_vision.py


def tap_names(model: torch.nn.Module) -> set[str]:
    return {name for name, module in model.named_modules() if isinstance(module, Tap)}


@pytest.mark.parametrize("preset", TEXTS)
def test_watching_records_every_tap_and_changes_nothing(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    fused = model(rows.source, rows.mask, rows.target)
    with watching(model) as watch:
        opened = model(rows.source, rows.mask, rows.target)
    assert torch.allclose(fused, opened, atol=1e-5, rtol=1e-5)
    seen = watch.tensors()
    assert set(seen) == tap_names(model) and seen
    for name, tensor in seen.items():
        assert tensor.isfinite().all(), name
        if name.endswith(".weights"):
            assert torch.allclose(tensor.sum(-1), torch.ones(tensor.shape[:-1]), atol=1e-5), name
    assert not watched()
    model(rows.source, rows.mask, rows.target)
    assert all(torch.equal(tensor, seen[name]) for name, tensor in watch.tensors().items())


CROSS = {
    **{name: "decoder.attention.weights" for name in PRESETS if name.startswith("lstm-")},
    "attention-rnn": "decoder.attention.weights",
    "convolution": "decoder.layers.1.cross_attention.weights",
    "transformer": "decoder.layers.1.cross_attention.weights",
}
CROSS = {name: tap for name, tap in CROSS.items() if name not in ("lstm-fixed", "lstm-classifier", "lstm-tagger")}


@pytest.mark.parametrize("preset", CROSS)
def test_cross_attention_looks_at_real_tokens_only(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    with watching(model) as watch:
        model(rows.source, rows.mask, rows.target)
    weights = watch.tensors()[CROSS[preset]]
    heads = 3 if preset in ("lstm-multihead", "convolution", "transformer") else 1
    assert weights.shape == (4, heads, 5, 7)
    assert weights.masked_select(~rows.mask[:, None, None].expand_as(weights)).eq(0).all()


@pytest.mark.parametrize("preset", TEXTS)
def test_one_pass_or_steps_show_the_same(tiny, rows, preset: str) -> None:
    """Every attention weight and every hidden state: a trace is what decoding used."""
    model = tiny(preset, depth=2)
    with watching(model) as whole:
        model(rows.source, rows.mask, rows.target)
    with watching(model) as stepped:
        memory = model.encode(rows.source, rows.mask)
        state = model.start(memory)
        for token in rows.target.split(1, dim=1):
            _, state = model.step(token, memory, state)
    seen = whole.tensors()
    assert set(stepped.tensors()) == set(seen) == tap_names(model)
    for name, tensor in stepped.tensors().items():
        assert torch.allclose(tensor, seen[name], atol=1e-5), name


@pytest.mark.parametrize("preset", CROSS)
def test_replaced_attention_changes_the_logits(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    name, plain = CROSS[preset], model(rows.source, rows.mask, rows.target)
    with watching(model, {name: lambda weights: weights}):
        assert torch.allclose(model(rows.source, rows.mask, rows.target), plain, atol=1e-5)
    with watching(model, {name: lambda weights: weights * 0}):
        blind = model(rows.source, rows.mask, rows.target)
    assert (blind - plain).abs().amax((1, 2)).gt(1e-3).all()
    assert torch.equal(model(rows.source, rows.mask, rows.target), plain)


RECURRENT = [name for name in TEXTS if PRESETS[name].fields.get("decoder") == "rnn"]


@pytest.mark.parametrize("preset", RECURRENT)
def test_a_patched_state_is_what_the_next_step_sees(tiny, rows, preset: str) -> None:
    """The third token's state is replaced: what comes before stays, all that follows changes."""
    model = tiny(preset, depth=2)
    plain, calls = model(rows.source, rows.mask, rows.target), []
    third = 2 + (rows.source.shape[1] if preset == "rnn-language" else 0)  # it passes the source's steps first

    def patch(state: torch.Tensor) -> torch.Tensor:
        calls.append(state.shape)
        return torch.ones_like(state) if len(calls) == third + 1 else state

    with watching(model, {"decoder.states": patch}):
        patched = model(rows.source, rows.mask, rows.target)
    assert set(calls) == {(4, 1, 12)}
    assert torch.allclose(patched[:, :2], plain[:, :2], atol=1e-5)
    assert (patched - plain)[:, 2:].abs().amax(-1).gt(1e-4).all()


@pytest.mark.parametrize("preset", ["rnn-fixed", "lstm-additive", "lstm-classifier"])
def test_a_patched_encoder_is_all_that_is_left_of_the_source(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    other = torch.where(rows.mask, 3 + (rows.source + 2) % 6, 0)
    with watching(model, {"encoder.layers.1.states": torch.ones_like}):
        one, two = (model(source, rows.mask, rows.target) for source in (rows.source, other))
    assert torch.allclose(one, two) and not torch.allclose(model(rows.source, rows.mask, rows.target), one, atol=1e-3)


def test_a_language_model_shows_one_triangle_over_source_and_target(tiny, rows) -> None:
    model = tiny("transformer-language", depth=1)
    with watching(model) as watch:
        model(rows.source, rows.mask, rows.target)
    weights = watch.tensors()["decoder.layers.0.self_attention.weights"]
    assert weights.shape == (4, 3, 12, 12)  # 7 of the source, shifted right, and 5 of the target
    assert weights.triu(1).eq(0).all()
    assert weights[0, :, 2:, :2].eq(0).all()  # row 0 has five tokens: two columns of padding on the left
    assert weights[1, :, 1:, 0].gt(0).all()


def test_two_threads_watch_their_own_passes(tiny, rows) -> None:
    model = tiny("transformer", depth=1)
    plain, seen, barrier = model(rows.source, rows.mask, rows.target), {}, threading.Barrier(2)

    def watch_rows(first: int, last: int) -> None:
        with torch.no_grad(), watching(model) as watch:
            barrier.wait(10)
            model(rows.source[first:last], rows.mask[first:last], rows.target[first:last])
            barrier.wait(10)
        seen[first] = watch.tensors()["decoder.layers.0.states"]

    threads = [threading.Thread(target=watch_rows, args=pair) for pair in ((0, 1), (1, 4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0].shape == (1, 5, 12) and seen[1].shape == (3, 5, 12)
    assert torch.equal(model(rows.source, rows.mask, rows.target), plain)
