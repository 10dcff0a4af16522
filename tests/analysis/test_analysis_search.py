"""The picture of a beam search: every node once, the winner's way marked, what was dropped pale."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard.analysis.search import save_tree, tree_svg
from regard.data.tokenizer import EOS, Tokenizer
from regard.errors import UserError
from regard.inference.beam_tree import BeamTree, Node


@pytest.fixture(scope="module")
def letters() -> Tokenizer:
    return Tokenizer.train(["a<b"], "character")


@pytest.fixture(scope="module")
def tree(letters: Tokenizer) -> BeamTree:
    """a and < are kept; a ends, and so does ab; < is dropped."""
    a, less, b = letters.encode("a<b")
    steps = (
        (Node((a,), -0.5, None), Node((less,), -1.0, None)),
        (Node((a, EOS), -0.7, -0.35), Node((a, b), -1.5, None)),
        (Node((a, b, EOS), -1.6, -0.53),),
    )
    return BeamTree(steps, (a, EOS))


def test_every_node_is_there_and_says_what_became_of_it(tree: BeamTree, letters: Tokenizer) -> None:
    text = tree_svg(tree, letters, "a & b")
    root = ElementTree.fromstring(text)
    groups = [node for node in root if node.tag.endswith("}g")]
    edges = [node for node in root if node.tag.endswith("}path")]
    assert [node.get("class") for node in groups] == ["best", "best", "pruned", "best", "kept", "kept"]
    assert [node.get("class") for node in edges] == ["best edge", "pruned edge", "best edge", "kept edge", "kept edge"]
    assert "-0.700  ■ -0.350" in text and "&lt;" in text and "a &amp; b" in text and text.count(">step ") == 3


def test_saved_as_svg_or_page(tree: BeamTree, letters: Tokenizer, tmp_path: Path) -> None:
    assert save_tree(tmp_path / "tree.svg", tree, letters, "t").read_text().startswith("<svg")
    page = save_tree(tmp_path / "tree.html", tree, letters, "t").read_text()
    assert page.startswith("<!doctype html>") and '"kind": "tree"' in page
    with pytest.raises(UserError, match=r"tree\.pdf: a picture is saved as \.svg, \.png or \.html"):
        save_tree(tmp_path / "tree.pdf", tree, letters, "t")
