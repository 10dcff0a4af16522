"""Compiled loops give what torch gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.nn.compiled import attend, attend_additively, soften

HEADS, SIZE, LAYERS, STORED, ROWS, SEEN = 3, 5, 2, 40, 7, 11


@pytest.mark.parametrize("layer", range(LAYERS))
def test_attention_over_slots(layer: int) -> None:
    random = np.random.default_rng(0)
    width = HEADS * SIZE
    asked = random.standard_normal((ROWS, 2 * width), np.float32)
    store = random.standard_normal((STORED, LAYERS, 2, width), np.float32)
    slots = random.integers(0, STORED, (ROWS, SEEN)).astype(np.int32)
    counts = random.integers(1, SEEN + 1, ROWS).astype(np.int32)
    found = np.empty((ROWS, width), np.float32)
    attend(asked, store, slots, counts, layer, HEADS, found)
    for row in range(ROWS):
        seen = torch.from_numpy(store[slots[row, : counts[row]], layer])  # (S, 2, D)
        keys, values = (one.view(-1, HEADS, SIZE).transpose(0, 1) for one in seen.unbind(1))
        query = torch.from_numpy(asked[row, :width]).view(1, HEADS, SIZE).transpose(0, 1)
        expected = F.scaled_dot_product_attention(query, keys, values).transpose(0, 1).reshape(-1)
        torch.testing.assert_close(torch.from_numpy(found[row]), expected, rtol=1e-5, atol=1e-6)


def test_additive_attention_over_slots() -> None:
    random = np.random.default_rng(1)
    queries, keys = (random.standard_normal((rows, SIZE), np.float32) for rows in (ROWS, STORED))
    values, score = random.standard_normal((STORED, HEADS), np.float32), random.standard_normal(SIZE, np.float32)
    slots = random.integers(0, STORED, (ROWS, SEEN)).astype(np.int32)
    counts = random.integers(1, SEEN + 1, ROWS).astype(np.int32)
    found = np.empty((ROWS, HEADS), np.float32)
    attend_additively(np.exp(2 * queries), np.exp(2 * keys), values, slots, counts, -2 * score, found)
    for row in range(ROWS):
        seen = slots[row, : counts[row]]
        scores = np.tanh(queries[row] + keys[seen]) @ score
        weights = np.exp(scores - scores.max())
        np.testing.assert_allclose(found[row], weights / weights.sum() @ values[seen], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "scores",
    [
        [0.5],
        [3.0, -2.0, 0.25, 3.0],
        [1e30, -1e30],
        [-80.0, 0.0, -100.0, -200.0],
        [-np.inf, 1.0],
        [*np.linspace(-9, 9, 99)],
    ],
    ids=lambda scores: str(scores[:4]),
)
def test_softmax(scores: list[float]) -> None:
    given = np.array(scores, np.float32)
    expected = torch.softmax(torch.from_numpy(given.copy()).double(), 0)
    soften(given)
    torch.testing.assert_close(torch.from_numpy(given).double(), expected, rtol=2e-6, atol=1e-30)


@pytest.mark.parametrize(
    "scores", [[np.nan, 1.0], [1.0, np.nan], [np.inf, 1.0], [-np.inf, -np.inf], [*range(70), np.nan]], ids=str
)
def test_what_is_no_number_stays_none(scores: list[float]) -> None:
    given = np.array(scores, np.float32)
    soften(given)
    assert np.isnan(given).all()
