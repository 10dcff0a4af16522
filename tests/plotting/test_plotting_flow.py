"""Boxes with their words, an arrow between each two."""

from __future__ import annotations

from xml.etree import ElementTree

from regard.plotting import flow


def test_boxes_and_arrows() -> None:
    drawn = ElementTree.fromstring(flow("model", ["letters", "an encoder of several layers", "a <class>"]))
    kinds = [part.tag.rpartition("}")[2] for part in drawn]
    assert kinds.count("rect") == 3 and kinds.count("polygon") == 2
    words = [part.text for part in drawn.iter() if part.tag.endswith("}text")]
    assert (
        words[0] == "letters" and " ".join(words[1:-1]) == "an encoder of several layers" and words[-1] == "a <class>"
    )
