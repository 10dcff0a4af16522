from __future__ import annotations

from _rounds import spread, timed


def test_work_takes_turns_and_every_round_counts() -> None:
    order: list[str] = []
    now = iter(range(100))
    taken = timed({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3, lambda: float(next(now)))
    assert order == ["a", "b"] * 3
    assert taken == {"a": [1.0] * 3, "b": [1.0] * 3}


def test_a_cell_has_median_and_range() -> None:
    assert spread([3000.0, 1000.0, 2500.0]) == "2,500 (1,000 to 3,000)"
    assert spread([0.5, 0.25], ".2f") == "0.38 (0.25 to 0.50)"
