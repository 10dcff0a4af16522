"""Fused attention keeps what grows with T, not with T², with and without masks."""

from __future__ import annotations

from functools import partial

import growth
import pytest
import torch

from regard.apps.lessons.complexity import saved_bytes
from regard.apps.lessons.three_ways import open_attention
from regard.nn.masks import key_mask


def _kept(make: growth.Layer, length: int) -> int:
    module, apply = make(8)
    inputs = torch.randn(1, length, 8, requires_grad=True)
    return saved_bytes(partial(apply, inputs), [inputs, *module.parameters()])


@pytest.mark.parametrize("name", [name for name in growth.LAYERS if "fused" in name])
def test_memory_of_fused_attention_is_linear(name: str) -> None:
    assert _kept(growth.LAYERS[name], 512) / _kept(growth.LAYERS[name], 128) == pytest.approx(4, rel=0.05)
    assert _kept(open_attention, 512) / _kept(open_attention, 128) > 8  # or the measure sees no matrix at all


def test_the_masks_are_those_that_the_rows_name() -> None:
    torch.manual_seed(1)
    inputs = torch.randn(1, 16, 8)
    attention, causal = growth.causal_attention(8)
    open_mask = torch.ones(16, 16, dtype=torch.bool).tril()
    torch.testing.assert_close(causal(inputs), attention(inputs, *attention.prepare(inputs), open_mask))
    attention, padded = growth.padded_attention(8)
    real = torch.tensor([[True] * 14 + [False] * 2])
    torch.testing.assert_close(padded(inputs), attention(inputs, *attention.prepare(inputs), key_mask(real)))
    assert not torch.allclose(padded(inputs), attention(inputs, *attention.prepare(inputs)))
