"""Canonical tags: numbered by the source, paired where they nest, lost or doubled ones found."""

from __future__ import annotations

import pytest

from regard.formats.tags import Mark, tag_problem, with_native, with_tags
from regard.formats.unit import Unit
from regard.formats.xml_events import xml_text


def test_tags_are_numbered_in_the_order_of_the_source() -> None:
    source = with_tags(["A ", Mark("open", "b", "<b>"), "c", Mark("close", "b", "</b>"), Mark("alone", "br", "<br/>")])
    assert source.text == "A <g1>c</g1><x2/>"
    assert source.native == {"<g1>": "<b>", "</g1>": "</b>", "<x2/>": "<br/>"}
    target = with_tags(
        [Mark("alone", "br", "<br/>"), Mark("open", "b", "<b>"), "C", Mark("close", "b", "</b>")], source
    )
    assert target.text == "<x2/><g1>C</g1>"
    assert with_tags([Mark("alone", "new", "<i/>")], source).text == "<x3/>"


def test_begin_and_end_are_a_pair_where_they_nest() -> None:
    begin, end = Mark("begin", "1", "{b"), Mark("end", "1", "b}")
    assert with_tags([begin, "text", end]).text == "<g1>text</g1>"
    assert with_tags(["text", end]).text == "text<x1/>"
    crossing = [Mark("open", "g", "<g>"), begin, Mark("close", "g", "</g>"), "text", end]
    assert with_tags(crossing).text == "<g1><x2/></g1>text<x3/>"


def test_a_number_that_the_text_spells_is_passed_over() -> None:
    tagged = with_tags(["<g1> and <x2/> ", Mark("open", "b", "<b>"), "c", Mark("close", "b", "</b>")])
    assert tagged.text == "<g1> and <x2/> <g3>c</g3>"
    unit = Unit("", tagged.text, "", "untranslated", "", native=tagged.native)
    assert with_native(tagged.text, unit, xml_text) == "&lt;g1&gt; and &lt;x2/&gt; <b>c</b>"


@pytest.mark.parametrize(
    ("translation", "problem"),
    [
        ("<x2/>A <g1>b</g1>", None),
        ("A <g1>b</g1>", "<x2/> is missing"),
        ("<x2/><x2/><g1></g1>", "<x2/> occurs 2 times"),
        ("<x2/></g1><g1>", "</g1> closes what is not open"),
        ("<x2/><g1>", "</g1> is missing"),
        ("<x2/><g1>b</g1> <g7>", None),  # not a tag of this unit, but text
    ],
)
def test_lost_and_doubled_tags_are_found(translation: str, problem: str | None) -> None:
    assert tag_problem(translation, {"<g1>": "<b>", "</g1>": "</b>", "<x2/>": "<br/>"}) == problem
