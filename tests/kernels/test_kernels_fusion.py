"""Fused models compute what the plain models compute, for every preset."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from regard.config import PRESETS
from regard.kernels.fusion import FUSED, fuse
from regard.nn.taps import watching

TEXTS = [name for name in PRESETS if not name.startswith("image-")]


@pytest.mark.parametrize("preset", TEXTS)
def test_fused_is_plain_with_every_gradient(tiny, rows, preset: str) -> None:
    plain = tiny(preset, fused=False, depth=2).double()
    fused = fuse(deepcopy(plain))
    assert not {type(module) for module in plain.modules()} & set(FUSED.values())
    assert not {type(module) for module in fused.modules()} & set(FUSED)
    results = []
    for model in (plain, fused):
        logits = model(rows.source, rows.mask, rows.target)
        (logits.log_softmax(-1) * torch.arange(1.0, logits.shape[-1] + 1)).sum().backward()
        results.append((logits, {name: parameter.grad for name, parameter in model.named_parameters()}))
    (expected, gradients), (logits, ours) = results
    torch.testing.assert_close(logits, expected)
    assert ours.keys() == gradients.keys()
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, gradients[name])


@pytest.mark.parametrize("preset", TEXTS)
def test_fused_is_plain_without_gradients(tiny, rows, preset: str) -> None:
    plain = tiny(preset, fused=False, depth=2).double()
    fused = fuse(deepcopy(plain))
    with torch.no_grad():
        expected = plain(rows.source, rows.mask, rows.target)
        torch.testing.assert_close(fused(rows.source, rows.mask, rows.target), expected)


@pytest.mark.parametrize("preset", TEXTS)
def test_watched_a_fused_model_has_the_taps_of_the_plain_one(tiny, rows, preset: str) -> None:
    plain = tiny(preset, fused=False, depth=2).double()
    seen, mask = [], torch.ones_like(rows.mask)  # states of padding may differ
    for model in (plain, fuse(deepcopy(plain))):
        with torch.no_grad(), watching(model) as watch:
            model(rows.source, mask, rows.target)
        seen.append(watch.tensors())
    expected, ours = seen
    assert expected.keys() == ours.keys() and expected
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, expected[name])


def test_a_fused_layer_keeps_its_parameters(tiny) -> None:
    plain = tiny("lstm-additive", fused=False)
    before = dict(plain.named_parameters())
    fused = fuse(plain)
    assert fused is plain and all(parameter is before[name] for name, parameter in fused.named_parameters())
    assert {type(module) for module in fuse(fused).modules()} & set(FUSED.values()), "twice is once"
