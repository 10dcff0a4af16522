"""Parameters of each score by their formula, and the work that is timed."""

from __future__ import annotations

import pytest

from regard.apps.lessons.scores import costs


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("additive", 2 * 6 * 6 + 6 + 6),
        ("dot", 0),
        ("scaled-dot", 0),
        ("bilinear", 6 * 6),
        ("projected", 2 * 6 * 6),
        ("cosine", 1),
        ("fixed vector", 0),
    ],
)
def test_a_score_has_the_parameters_of_its_formula(name: str, count: int) -> None:
    parameters, parts = costs(name, width=6)
    assert parameters == count
    assert set(parts) == {"step", "open"} | (set() if name == "fixed vector" else {"attention"})
