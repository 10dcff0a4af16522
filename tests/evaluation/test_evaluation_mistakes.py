"""Kinds of mistakes, and the worst first."""

from __future__ import annotations

import pytest

from regard.evaluation.mistakes import kind_of, worst_classes, worst_tags, worst_texts


@pytest.mark.parametrize(
    ("output", "reference", "kind"),
    [
        (" ", "a b", "empty"),
        ("3 May 1992", "3 May 1993", "number"),
        ("cats chase mice", "mice chase cats", "order"),
        ("the cat", "the old cat", "omission"),
        ("the the cat", "the cat", "repetition"),
        ("the old cat", "the cat", "addition"),
        ("the dog", "the cat", "other words"),
        ("abcc", "abc", "repetition"),
        ("acb", "abc", "order"),
        ("ab", "abc", "omission"),
    ],
)
def test_kinds(output: str, reference: str, kind: str) -> None:
    assert kind_of(output, reference) == kind


def test_the_worst_come_first() -> None:
    references = ["the old cat", "three mice", "right"]
    worst = worst_texts(["x", "y", "z"], references, ["the cat", "", "right"], 5)
    assert [mistake.source for mistake in worst] == ["y", "x"] and worst[0].score == 0
    assert worst_texts(["x", "y", "z"], references, ["the cat", "", "right"], 1) == worst[:1]
    classes = worst_classes(["x", "y", "z"], ["A", "B", "A"], ["B", "B", ""], [0.9, 0.8, 0.0], 5)
    assert [(mistake.source, mistake.kind) for mistake in classes] == [("x", "class"), ("z", "empty")]
    tags = worst_tags(["a b", "c d"], ["N V", "N V"], ["N N", "V N"], 5)
    assert [(mistake.source, mistake.score) for mistake in tags] == [("c d", 0.0), ("a b", 50.0)]
