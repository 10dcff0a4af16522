"""A bar finds what sorting finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.inference import candidates as continuation
from regard.inference.candidates import _above_threshold, _sorted, continuations


def drawn(seed: int, size: int, width: int, vocabulary: int, sharp: float) -> tuple[np.ndarray, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = sharp * torch.randn(size * width, vocabulary, generator=generator)
    total = -20 * torch.rand(size, width, generator=generator).sort(dim=1).values
    log_probs = scores.log_softmax(-1)
    log_probs[:, :2] = -torch.inf  # what is never written
    return total.numpy(), log_probs


@pytest.mark.parametrize("sharp", [0.1, 3.0, 40.0])
@pytest.mark.parametrize("width, count", [(1, 10), (5, 10), (3, 6), (12, 24)])
@pytest.mark.parametrize("size, vocabulary", [(1, 4001), (7, 800), (20, 131)])
def test_a_bar_finds_what_sorting_finds(size: int, vocabulary: int, width: int, count: int, sharp: float) -> None:
    total, log_probs = drawn(size + width, size, width, vocabulary, sharp)
    expected, found = _sorted(total, log_probs, count), _above_threshold(total, log_probs.numpy(), count)
    assert found is not None
    for one, other in zip(found, expected, strict=True):
        assert one.shape == (size, count) and one.dtype == other.dtype
    np.testing.assert_array_equal(found.total, expected.total)
    clear = np.diff(expected.total, axis=1, prepend=1, append=-np.inf) < 0  # ties may stand in any order
    clear = clear[:, :-1] & clear[:, 1:]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[clear], other[clear])


def test_only_who_lives_goes_on() -> None:
    """Fewer peaks than are asked for: the bar is -inf, and all tokens of the one hypothesis are looked at."""
    total, log_probs = drawn(3, 4, 5, 500, 3.0)
    total[:, 1:] = -np.inf
    total[2, 1] = -3.0
    found, expected = _above_threshold(total, log_probs.numpy(), 10), _sorted(total, log_probs, 10)
    assert found is not None and np.isfinite(found.total).all()
    np.testing.assert_array_equal(found.total, expected.total)
    np.testing.assert_array_equal(found.token, expected.token)


def test_equal_numbers_and_no_numbers() -> None:
    total, log_probs = np.zeros((2, 3), dtype=np.float32), torch.full((6, 100), -6.5)
    found = _above_threshold(total, log_probs.numpy(), 6)
    assert found is not None and (found.total == -6.5).all()
    assert found.parent.tolist() == [[0] * 6] * 2 and found.token.tolist() == [list(range(6))] * 2
    assert _above_threshold(total, torch.full((6, 100), torch.nan).numpy(), 6) is None


def test_a_crowd_above_the_bar_is_sorted() -> None:
    """A hypothesis is sure of one token, and finds the others alike, as smoothed labels teach it."""
    total, log_probs = np.array([[0.0, -11, -12]], dtype=np.float32), torch.full((3, 9000), -14.0)
    log_probs[0, 7] = -0.1
    assert _above_threshold(total, log_probs.numpy(), 9) is None
    found = continuations(total, log_probs, 9)
    assert (found.total[0, 0], found.token[0, 0]) == (np.float32(-0.1), 7) and (found.total[0, 1:] == -14).all()


def test_which_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(continuation, "_above_threshold", lambda *given: taken.append(len(given[1])))
    for rows, vocabulary in ((4, 8192), (2, 8192), (2000, 39)):  # many; few; a vocabulary as small as what is asked for
        total, log_probs = drawn(1, rows, 1, vocabulary, 1.0)
        assert continuations(total, log_probs, 10).total.shape == (rows, 10)
    assert taken == [4]
