"""Axes: ticks are round, few and inside."""

from __future__ import annotations

from regard.plotting.axes import Axis, Scale, log_ticks, ticks


def test_log_ticks_are_few_and_inside() -> None:
    assert log_ticks(1, 100) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(1e-6, 1e6, 7) == [1e-6, 1e-4, 1e-2, 1, 100, 1e4, 1e6]
    assert Scale.over(Axis(log=True), [5.0], 0, 100).ticks(5)


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert ticks(0.3, 2.9) == [1, 2]
    assert ticks(2, 2) == [2]
    assert all(0.013 <= value <= 0.017 for value in ticks(0.013, 0.017))
