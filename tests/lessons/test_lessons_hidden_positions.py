"""Pieces fill the positions that are probed; the constant guess is the best that knows nothing."""

from __future__ import annotations

from regard.lessons.hidden_positions import constant_guess, pieces


def test_pieces_are_whole_and_none_is_short() -> None:
    assert pieces(["abcdefgh", "xy", "12345"], length=4) == ["abc", "def", "123"]


def test_no_constant_is_nearer_than_the_middle() -> None:
    for length in (1, 2, 7, 40):
        least = min(sum(abs(place - guess) for place in range(length)) / length for guess in range(length))
        assert constant_guess(length) == least
    assert constant_guess(40) == 10
