"""Pieces that two tokenizers share are counted, and too few are refused."""

from __future__ import annotations

import pytest

from regard.errors import UserError
from regard.interop.identity import compare_pieces, joined


def test_pieces_are_counted_text_by_text() -> None:
    same = compare_pieces(["a b c", "d e"], str.split, str.split)
    assert (same.pieces, same.same, same.texts, same.same_texts, same.example) == (5, 5, 2, 2, None)
    other = compare_pieces(["a b c", "d e"], str.split, lambda text: text.replace("b", "x y").split())
    assert (other.pieces, other.same, other.texts, other.same_texts, other.example) == (5, 4, 2, 1, "a b c")
    both = joined([same, other])
    assert (both.pieces, both.same, both.texts, both.same_texts, both.example) == (10, 9, 4, 3, "a b c")


def test_too_few_are_refused_without_force() -> None:
    texts = [f"a{i}" for i in range(999)]
    enough = compare_pieces([*texts, "x"], list, lambda text: list(text.replace("x", "y")))
    enough.require(force=False)  # one of 3,885 pieces
    few = compare_pieces(["a b", "c"], str.split, lambda text: text.replace("a", "x").split())
    with pytest.raises(UserError, match=r"2 of 3 pieces .* first 'a b'.*--force"):
        few.require(force=False)
    few.require(force=True)


def test_no_texts_are_no_reason_to_refuse() -> None:
    compare_pieces([], str.split, str.split).require(force=False)
