"""Taps: the identity unless somebody watches this model, in this context, now."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import Tensor, nn

from regard.nn.attention import MultiHeadAttention
from regard.nn.taps import Tap, watched, watching


class Loop(nn.Module):
    """Two taps, one of which is passed at every step of a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([Tap(), Tap()])

    def forward(self, x: Tensor) -> Tensor:
        for t in range(x.shape[1]):
            self.inner[0](x[:, t : t + 1] * 2)
        return self.inner[1](x + 1)


def test_every_tap_is_recorded_by_its_path_and_steps_are_joined() -> None:
    model, x = Loop(), torch.randn(2, 3, 4)
    with watching(model) as watch:
        model(x)
    seen = watch.tensors()
    assert set(seen) == {"inner.0", "inner.1"}
    assert torch.equal(seen["inner.0"], x * 2) and torch.equal(seen["inner.1"], x + 1)
    assert len(watch.recorded["inner.0"]) == 3


def test_replacement_changes_what_follows_and_what_is_seen() -> None:
    model, x = Loop(), torch.randn(2, 3, 4)
    with watching(model, {"inner.1": lambda tensor: tensor * 0}) as watch:
        assert model(x).eq(0).all()
    assert watch.tensors()["inner.1"].eq(0).all() and watch.tensors()["inner.0"].ne(0).any()
    assert torch.equal(model(x), x + 1)


def test_inside_another_block_on_the_same_model_its_replacements_stay() -> None:
    model, other, x = Loop(), Loop(), torch.randn(2, 3, 4)
    with watching(model, {"inner.1": lambda tensor: tensor * 0}, record=False):
        with watching(model) as watch:
            assert model(x).eq(0).all()
        with watching(other):
            assert torch.equal(other(x), x + 1)
        with watching(model, {"inner.1": lambda tensor: tensor * 2}):
            assert torch.equal(model(x), 2 * (x + 1))
    assert watch.tensors()["inner.1"].eq(0).all()


def test_replaced_weights_make_the_context() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, 6, 2, "split", 0.0)
    x = torch.randn(2, 5, 6)
    with watching(attention, {"weights": lambda weights: torch.full_like(weights, 1 / 5)}):
        ours = attention(x, *attention.prepare(x))
    expected = attention.output_proj(attention.value_proj(x).mean(1, keepdim=True)).expand(2, 5, 6)
    assert torch.allclose(ours, expected, atol=1e-6)


def test_keys_that_grow_from_step_to_step_are_joined_with_zeros() -> None:
    """Self-attention with a cache: the step t has t + 1 keys; it gave those still to come no weight."""
    torch.manual_seed(1)
    attention, x = MultiHeadAttention(6, 6, 2, "split", 0.0), torch.randn(2, 4, 6)
    keys, values = attention.prepare(x)
    with watching(attention) as whole:
        attention(x, keys, values, causal=True)
    with watching(attention) as stepped:
        for t in range(4):
            attention(x[:, t : t + 1], keys[:, :, : t + 1], values[:, :, : t + 1], causal=True)
    assert torch.allclose(stepped.tensors()["weights"], whole.tensors()["weights"], atol=1e-6)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"inner\.7"), watching(Loop(), {"inner.7": lambda tensor: tensor}):
        pass


def test_nothing_is_left_behind_even_after_an_error() -> None:
    model, x = Loop(), torch.randn(2, 3, 4)
    with watching(model) as watch:
        assert watched()
    model(x)
    assert not watched() and not watch.recorded
    with pytest.raises(ZeroDivisionError), watching(model) as watch:
        raise ZeroDivisionError
    model(x)
    assert not watched() and not watch.recorded
    assert not any(isinstance(value, Tensor) for tap in model.inner for value in vars(tap).values())


def test_blocks_nest() -> None:
    model, x = Loop(), torch.randn(2, 3, 4)
    with watching(model) as outer:
        with watching(model) as inner:
            model(x)
        assert inner.recorded and not outer.recorded
        model(x)
    assert outer.recorded.keys() == inner.recorded.keys() and len(inner.recorded["inner.1"]) == 1


def test_other_models_are_unaffected() -> None:
    model, other, x = Loop(), Loop(), torch.randn(2, 3, 4)
    with watching(model, {"inner.1": lambda tensor: tensor * 0}) as watch:
        assert torch.equal(other(x), x + 1)
    assert not watch.recorded


def test_other_threads_are_unaffected() -> None:
    model, x, results = Loop(), torch.randn(2, 3, 4), []

    def elsewhere() -> None:
        results.append((watched(), model(x)))

    with watching(model, {"inner.1": lambda tensor: tensor * 0}) as watch:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    (was_watched, output) = results[0]
    assert not was_watched and torch.equal(output, x + 1) and not watch.recorded
