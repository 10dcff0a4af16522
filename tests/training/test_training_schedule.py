"""The rate at the points that define it."""

from __future__ import annotations

import math

import pytest

from regard.config import TrainingPlan
from regard.training.schedule import learning_rate


def settings(schedule: str, warmup: int = 10) -> TrainingPlan:
    return TrainingPlan.model_validate({"rate": 0.5, "warmup_steps": warmup, "schedule": schedule})


@pytest.mark.parametrize("schedule", ["inverse-sqrt", "cosine", "constant"])
def test_warm_up_is_linear_and_ends_at_the_peak(schedule: str) -> None:
    assert learning_rate(1, settings(schedule), 100) == pytest.approx(0.05)
    assert learning_rate(5, settings(schedule), 100) == pytest.approx(0.25)
    assert learning_rate(10, settings(schedule), 100) == pytest.approx(0.5)
    assert max(learning_rate(step, settings(schedule), 100) for step in range(1, 101)) == pytest.approx(0.5)


def test_after_the_warm_up() -> None:
    assert learning_rate(40, settings("inverse-sqrt")) == pytest.approx(0.25)
    assert learning_rate(1000, settings("inverse-sqrt")) == pytest.approx(0.05)
    assert learning_rate(55, settings("cosine"), 100) == pytest.approx(0.25)
    assert learning_rate(100, settings("cosine"), 100) == pytest.approx(0.0)
    assert learning_rate(200, settings("cosine"), 100) == pytest.approx(0.0)
    assert learning_rate(1000, settings("constant")) == 0.5


@pytest.mark.parametrize("schedule", ["inverse-sqrt", "cosine", "constant"])
def test_no_warm_up_begins_at_the_peak(schedule: str) -> None:
    assert learning_rate(1, settings(schedule, 0), 10_000) == pytest.approx(0.5, rel=1e-3)
    assert math.isfinite(learning_rate(10_000, settings(schedule, 0), 10_000))
