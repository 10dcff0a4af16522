"""Fields are aligned by characters: links by attention, true links, and those of a baseline without a model."""

from __future__ import annotations

import datetime

import pytest
import torch

from regard.analysis.maps import AttentionMap
from regard.apps.lessons.alignment import diagonal, error_rate, field_characters, gold, links
from regard.data.embedded.dates import Piece, WrittenDate

DAY = datetime.date(1992, 8, 5)
DATE = WrittenDate(
    DAY,
    "medium",
    (Piece("month", "Aug"), Piece("text", " "), Piece("day", "5"), Piece("text", ", "), Piece("year", "1992")),
    (Piece("year", "1992"), Piece("text", "年"), Piece("month", "8"), Piece("text", "月"), Piece("day", "5")),
)


def attending_to(chosen: list[int]) -> AttentionMap:
    """Each character of the target, and its end, attends to one character of `Aug 5, 1992</s>`."""
    weights = torch.zeros(1, len(chosen), 12)
    weights[0, torch.arange(len(chosen)), torch.tensor(chosen)] = 1
    return AttentionMap("attention", weights, (*"1992年8月5", "</s>"), (*"Aug 5, 1992", "</s>"))


def test_true_links_and_the_characters_of_fields() -> None:
    assert gold(DATE).sure == gold(DATE).possible == {(2, 0), (0, 1), (1, 2)}
    assert field_characters(DATE.source, True) == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10]]
    assert field_characters(DATE.target, False) == [[0, 1, 2, 3], [5], [7]]


def test_links_follow_most_of_the_weight() -> None:
    right = attending_to([7, 8, 9, 10, 11, 3, 4, 5, 11])  # 月 and 年 may attend anywhere, a comma belongs to the day
    assert links(right, 0, DATE) == gold(DATE).sure
    wrong_day = attending_to([7, 8, 0, 10, 0, 0, 0, 11, 11])  # the day attends to the end only: a tie, the first field
    assert links(wrong_day, 0, DATE) == {(2, 0), (0, 1), (0, 2)}
    assert error_rate([DATE, DATE], lambda _: links(wrong_day, 0, DATE)) == pytest.approx(100 / 3)


def test_the_diagonal_is_wrong_where_the_order_differs() -> None:
    assert diagonal(DATE) == {(0, 0), (1, 1), (2, 2)}
    assert error_rate([DATE], diagonal) == 100
    same = WrittenDate(DAY, "iso", DATE.target, DATE.target)
    assert error_rate([same], diagonal) == 0
    assert error_rate([DATE, same], diagonal) == 50
