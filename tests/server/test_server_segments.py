"""Texts in segments: what is translated, and that nothing else changes."""

from __future__ import annotations

import html
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.server.segments import segmented


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("a b", ["a b"]),
        ("  one \n\n two\r\nthree\r", ["one", "two", "three"]),
        ("😀\n---\n*", []),
        ("", []),
        ("1 < 2\n", ["1 < 2"]),
    ],
)
def test_lines_of_a_text(text: str, segments: list[str]) -> None:
    document = segmented(text)
    assert document.segments == segments
    assert document.joined(segments) == text


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("<p>one <b>two</b> three</p>", ["one", "two", "three"]),
        ("a &amp; b<br/>c", ["a & b", "c"]),
        ("<!-- one > two -->three", ["three"]),
        ("<script>let a = 1 < 2</script>x<SCRIPT>y</SCRIPT>", ["x"]),
        ('<a title="x">1 &lt; 2</a>', ["1 < 2"]),
        ("1 < 2 and 3 > 2", ["1 < 2 and 3 > 2"]),
        ("<!-- open", ["<!-- open"]),
        ("<script>open", ["open"]),
        ('<x id="0"></x>', []),
    ],
)
def test_texts_between_tags(text: str, segments: list[str]) -> None:
    document = segmented(text, "html")
    assert document.segments == segments
    assert html.unescape(document.joined(segments)) == html.unescape(text)


def test_an_empty_translation_leaves_the_source() -> None:
    assert segmented("one\ntwo").joined(["", "zwei"]) == "one\nzwei"


def test_what_a_model_writes_is_no_markup() -> None:
    assert segmented("<p>one</p>", "html").joined(["<script>&"]) == "<p>&lt;script&gt;&amp;</p>"


@given(st.text(alphabet=st.sampled_from("ab <>!-/&;\n\r\u202esScCript")))
def test_any_text_comes_back(text: str) -> None:
    document = segmented(text)
    assert document.joined(document.segments) == text
    marked = segmented(text, "html")
    assert html.unescape(marked.joined(marked.segments)) == html.unescape(text)


@pytest.mark.parametrize("piece", ["<!--", "<script>", "<a ", "&", "< ", "<b>"])
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    """A hundred thousand tags; were the search quadratic this would take minutes."""
    text = piece * 100_000
    before = time.process_time()
    segmented(text, "html")
    assert time.process_time() - before < 30, "linear takes well under a second"
