"""Alignments: from maps to links, the Pharaoh format, and the error rate by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.analysis.alignment import Gold, align, alignment_error_rate, pharaoh, read_pharaoh
from regard.analysis.maps import AttentionMap, word_groups
from regard.errors import UserError


def test_tokens_group_to_words() -> None:
    assert word_groups(("Sat", "urday", ",", " Aug", "ust", " ", "15", "</s>")) == [[0, 1, 2], [3, 4, 5], [6], [7]]
    assert word_groups(("<s>", "a", "b")) == [[0], [1, 2]]


def test_words_sum_what_is_looked_at_and_average_who_looks() -> None:
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]])
    merged = AttentionMap("a", weights, ("x", "y"), ("p", "q", " r")).words()
    assert merged.rows == ("xy",) and merged.columns == ("pq", "r")
    torch.testing.assert_close(merged.weights, torch.tensor([[[0.55, 0.45]]]))
    torch.testing.assert_close(merged.weights.sum(-1), torch.ones(1, 1))


def test_each_target_word_links_to_what_it_looked_at_most() -> None:
    weights = torch.tensor([[[0.1, 0.6, 0.3], [0.3, 0.1, 0.6], [0.0, 0.0, 1.0]]])
    found = AttentionMap("a", weights, ("le", " chat", "</s>"), ("cat", " the", "</s>"))
    assert align(found) == {(1, 0), (0, 1)}  # the end of the sentence is no word
    assert pharaoh(align(found)) == "1-0 0-1"


def test_gold_files(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("0-0 1?2\n\n3-4\n")
    first, empty, last = read_pharaoh(tmp_path / "gold")
    assert first == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)}))
    assert empty == Gold(frozenset(), frozenset()) and last.sure == {(3, 4)}
    (tmp_path / "bad").write_text("0-0\n1-x\n")
    with pytest.raises(UserError, match=r"bad:2: '1-x'"):
        read_pharaoh(tmp_path / "bad")


def test_error_rate_by_hand() -> None:
    gold = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2)}))
    perfect = alignment_error_rate([frozenset({(0, 0), (1, 1), (1, 2)})], [gold])
    assert perfect == 0
    one_wrong = alignment_error_rate([frozenset({(0, 0), (0, 1)})], [gold])
    assert one_wrong == pytest.approx(1 - (1 + 1) / (2 + 2))
