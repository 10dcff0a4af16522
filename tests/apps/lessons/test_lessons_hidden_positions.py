"""No constant guess is better than the middle."""

from __future__ import annotations

from regard.apps.lessons.hidden_positions import constant_guess


def test_no_constant_is_nearer_than_the_middle() -> None:
    for length in (1, 2, 7, 40):
        least = min(sum(abs(position - guess) for position in range(length)) / length for guess in range(length))
        assert constant_guess(length) == least
    assert constant_guess(40) == 10
