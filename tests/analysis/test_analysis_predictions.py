"""Probabilities of each position by hand."""

from __future__ import annotations

import math

import pytest
import torch

from regard.analysis.predictions import predictions
from regard.data.vocabulary import BOS, PAD


def names(ids: object) -> list[str]:
    return [f"w{i}" for i in ids]  # ty: ignore


def test_the_token_that_stands_there_and_its_rivals() -> None:
    shares = torch.tensor([[0.1, 0.1, 0.2, 0.6], [0.4, 0.3, 0.25, 0.05]])
    first, second = predictions(shares.log(), [3, 3], names, text=True)
    assert first.log_prob == pytest.approx(math.log(0.6), abs=1e-4)
    assert [(other.id, other.token) for other in first.alternatives] == [(3, "w3"), (2, "w2")]
    assert second.log_prob == pytest.approx(math.log(0.05), abs=1e-4)  # of the whole distribution
    assert {other.id for other in second.alternatives}.isdisjoint({PAD, BOS})
    entropy = -sum(share * math.log(share) for share in (0.4, 0.3, 0.25, 0.05))
    assert second.entropy == pytest.approx(entropy, abs=1e-4)


def test_classes_have_no_marks() -> None:
    (only,) = predictions(torch.tensor([[0.7, 0.3]]).log(), [0], names, text=False)
    assert [other.token for other in only.alternatives] == ["w0", "w1"]
