"""Encoded texts in one array: rows, their indices, padded batches."""

from __future__ import annotations

import numpy as np

from regard.data.token_store import TokenStore, ranges

STORE = TokenStore(np.array([5, 6, 2, 2, 7, 2], np.int32), np.array([0, 3, 4, 6]))


def test_rows_and_their_indices() -> None:
    assert STORE.lengths.tolist() == [3, 1, 2]
    assert STORE.row(2).tolist() == [7, 2] and STORE.source(0) == [5, 6] and STORE.source(1) == []
    assert STORE.indices(np.array([2, 0])).tolist() == [4, 5, 0, 1, 2]
    assert ranges(np.array([4, 9, 1]), np.array([2, 0, 3])).tolist() == [4, 5, 1, 2, 3]


def test_rows_are_padded_on_the_right() -> None:
    ids, mask = STORE.padded(np.array([1, 0]), np.random.default_rng(1))  # without BPE dropout nothing is drawn
    assert ids.tolist() == [[2, 0, 0], [5, 6, 2]] and ids.dtype == np.int64
    assert mask.tolist() == [[True, False, False], [True, True, True]]
