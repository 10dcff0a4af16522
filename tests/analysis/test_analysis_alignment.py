"""Alignments: from maps to links, the Pharaoh format, and the error rate by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.analysis.alignment import (
    Gold,
    align,
    alignment_error_rate,
    diagonal,
    head_links,
    measure_alignments,
    pharaoh,
    read_pharaoh,
    render,
    true_links,
)
from regard.analysis.maps import AttentionMap, word_groups
from regard.analysis.trace import Trace
from regard.config import DataSettings
from regard.data.embedded.stories import Span
from regard.data.embedded.truth import Truth, truths
from regard.data.examples import Example
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


def test_true_links_of_a_date() -> None:
    """Weekday with weekday, day with day; the "de" that says nothing may come from anywhere."""
    example = Example("Sat, Aug 15", "sábado 15 de agosto")
    truth = Truth(((Span(0, 3), Span(0, 6)), (Span(5, 8), Span(13, 19)), (Span(9, 11), Span(7, 9))))
    gold = true_links(example, truth)
    assert gold.sure == {(0, 0), (2, 1), (1, 3)}
    assert gold.possible - gold.sure == {(0, 2), (1, 2), (2, 2)}


def test_truths_are_those_of_the_held_out_examples() -> None:
    config = DataSettings(corpus="dates", examples=500, dev_examples=4, test_examples=3)
    known = truths(config)
    assert len(known) == 7
    for example, truth in known.items():
        said = {example.source[one.start : one.end] for one, _ in truth.aligned}
        years = {example.target[other.start : other.end] for _, other in truth.aligned} & said
        assert len(truth.aligned) >= 3 and any(len(year) == 4 for year in years)  # 1992 is 1992 in both languages
    story = truths(DataSettings(corpus="stories", examples=5000, dev_examples=40, test_examples=30))
    assert len(story) == 70
    for example, truth in story.items():
        for pronoun, name in truth.antecedents:
            assert example.source[pronoun.start : pronoun.end] in ("She", "He", "They")
            assert example.source[name.start : name.end][0].isupper() and name.end <= pronoun.start
    assert truths(DataSettings(corpus="copy")) == {}


def test_each_head_is_measured_apart() -> None:
    """Head 0 crosses as the truth does, head 1 looks straight ahead; their mean is undecided for neither."""
    crossed, straight = (
        torch.tensor([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0]]),
        torch.tensor([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]]),
    )
    end = torch.tensor([[0.0, 0.0, 1.0]])
    weights = torch.stack((torch.cat((crossed, end)), torch.cat((straight, end))))[None]
    tokens = ("a", " b", "</s>"), ("<s>", "x", " y"), ("x", " y", "</s>")
    trace = Trace({"encoder.layers.0.states": end, "decoder.attention.weights": weights}, *tokens)
    gold = Gold(frozenset({(1, 0), (0, 1)}), frozenset({(1, 0), (0, 1)}))
    assert head_links(trace.attention("decoder.attention")) == [gold.sure, diagonal(2, 2)]
    report = measure_alignments([trace], [gold], [Example("a b", "x y")])
    assert [(row.name, row.error) for row in report.rows] == [
        ("decoder.attention", 0.0), ("decoder.attention.0", 0.0), ("decoder.attention.1", 100.0)
    ]  # fmt: skip
    assert report.diagonal == 100 and report.best_head.head == 0 and "best head: decoder.attention.0" in render(report)


def test_a_language_model_looks_at_the_source_in_its_own_row() -> None:
    weights = torch.eye(5).roll(1, 0)[None, None]  # each looks at the one before; the first at the last
    trace = Trace(
        {"decoder.layers.0.self_attention.weights": weights}, ("a", "</s>"), ("<s>", "x", "y"), ("x", "y", "</s>")
    )
    assert trace.source_attentions == ["decoder.layers.0.self_attention"]
    found = trace.source_map("decoder.layers.0.self_attention")
    assert found.rows == ("x", "y", "</s>") and found.columns == ("a", "</s>")
    assert found.weights.tolist() == [[[0, 1], [0, 0], [0, 0]]]
