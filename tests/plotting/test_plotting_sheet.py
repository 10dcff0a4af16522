"""The sheet: whatever a text holds the SVG is well-formed, and wide characters have room."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from regard.plotting.sheet import rect, shade, sheet, shorten, text, text_width


def test_any_text_is_escaped() -> None:
    ugly = "a <b> & \"c\" 'd' \x00\x1b\ud800\uffff 🎉"
    svg = sheet(ugly, 10, 10, [text(1, 2, ugly), rect(0, 0, 1, 1, hover=ugly)])
    root = ElementTree.fromstring(svg)
    expected = "a <b> & \"c\" 'd' " + "\ufffd" * 4 + " 🎉"
    assert root.get("aria-label") == expected
    assert [part for part in root.itertext() if "<b>" in part] == [expected] * 2


def test_the_width_of_a_text() -> None:
    assert text_width("", 10) == 0
    assert text_width("注意力", 10) >= 30 > text_width("abc", 10) > text_width("ill", 10)
    assert text_width("e\u0301", 10) == text_width("e", 10)  # a combining accent
    assert text_width("👍\ufe0f", 10) == text_width("👍", 10) >= 12


@pytest.mark.parametrize("content", ["internationalisation", "注意力机制翻译模型", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦"])
def test_a_text_that_is_too_long_is_shortened(content: str) -> None:
    short = shorten(content, 60, 12)
    assert content.startswith(short.removesuffix("…")) and short.endswith("…") and text_width(short, 12) <= 60
    assert not short.endswith("\u200d…")
    assert shorten(content, 1000, 12) == content


def test_shades_grow_from_pale_to_deep() -> None:
    assert shade(0.0) == "#f6f8fc" and shade(1.0) == shade(1.5) == "#0b3d91"
