"""Tags of a batch are those of each sentence alone."""

from __future__ import annotations

import pytest

from regard.config import plan_model, settle
from regard.inference import TooLong
from regard.inference.tagging import tag
from regard.models.build import build_model

SOURCES = [[5, 3, 4, 9, 12, 7], [3], [4, 4, 5, 3, 3], [6, 11]]


@pytest.mark.parametrize("preset", ["transformer-tagger", "lstm-tagger"])
def test_a_batch_or_alone(preset: str) -> None:
    model = build_model(
        plan_model(settle({"model": {"preset": preset, "width": 16, "heads": 2}}).model), 13, 7, False, 3
    )
    together = tag(model, SOURCES, batch_tokens=16)
    assert [len(guesses) for guesses in together] == [6, 1, 5, 2]
    for source, guesses in zip(SOURCES, together, strict=True):
        (alone,) = tag(model, [source])
        assert [guess for guess, _ in alone] == [guess for guess, _ in guesses]
        assert [p for _, p in alone] == pytest.approx([p for _, p in guesses], abs=1e-5)


def test_too_long() -> None:
    fields = {"preset": "transformer-tagger", "width": 16, "heads": 2, "positions": "learned", "max_positions": 4}
    model = build_model(plan_model(settle({"model": fields}).model), 13, 7, False, 3)
    fits, too_long = tag(model, [[3, 4, 5], [3, 4, 5, 6]])
    assert len(fits) == 3 and too_long == TooLong("source", 5, 4)
