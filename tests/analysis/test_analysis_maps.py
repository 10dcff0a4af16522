"""Maps: what they show is what the weights say, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from regard.analysis.maps import AttentionMap, visible
from regard.errors import UserError


@pytest.fixture
def two_heads() -> AttentionMap:
    """Head 0 attends to the diagonal, head 1 to everything."""
    weights = torch.stack((torch.eye(3)[:2], torch.full((2, 3), 1 / 3)))
    return AttentionMap("decoder.attention", weights, (" le", "</s>"), ("the", "<end> & </script>", " "))


def test_heads_mean_and_entropy(two_heads: AttentionMap) -> None:
    assert two_heads.heads == 2
    torch.testing.assert_close(two_heads.mean().weights[0, 0], torch.tensor([2 / 3, 1 / 6, 1 / 6]))
    assert two_heads.head(1).name == "decoder.attention.1"
    torch.testing.assert_close(two_heads.head(1).weights[0], torch.full((2, 3), 1 / 3))
    entropy = two_heads.entropy()
    torch.testing.assert_close(entropy, torch.tensor([[0.0, 0.0], [1.0986, 1.0986]]), atol=1e-4, rtol=0)
    with pytest.raises(UserError, match="heads 0 to 1, not 2"):
        two_heads.head(2)


def test_text_shades_by_weight(two_heads: AttentionMap) -> None:
    header, first, second = two_heads.head(0).text().splitlines()
    assert "the" in header and "␣" in header
    assert first.strip().startswith("le") and first.count("█") == 3  # "the" is three wide
    assert second.strip().startswith("</s>") and second.index("█") > first.index("█")


def test_text_lines_up_with_wide_characters() -> None:
    """A Chinese character takes two columns of a terminal."""
    lines = AttentionMap("m", torch.ones(1, 2, 2), ("狐狸", "fox"), ("跳过了", "x")).text().splitlines()
    assert lines == ["      跳过了 x", "狐狸  ██████ ███", " fox  ██████ ███"]


def test_svg_has_a_cell_for_every_weight_and_is_escaped(two_heads: AttentionMap, tmp_path: Path) -> None:
    text = two_heads.save(tmp_path / "map.svg").read_text()
    assert text.count("<title>") == 2 * 2 * 3
    assert "<title>le → the: 1.000 (head 0)</title>" in text and "&lt;end&gt; &amp;" in text
    import xml.etree.ElementTree as ElementTree

    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_html_holds_the_weights_and_survives_a_script_token(two_heads: AttentionMap, tmp_path: Path) -> None:
    text = two_heads.save(tmp_path / "map.html").read_text()
    assert text.count("</script>") == 2  # the data and the program; not the token
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["maps"][0]["columns"][1] == "<end> & </script>"
    assert data["maps"][0]["weights"][1][0] == [0.3333] * 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # nothing is fetched


def test_png(two_heads: AttentionMap, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    assert two_heads.save(tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_other_formats_are_refused(two_heads: AttentionMap, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"map\.gif.*\.svg, \.png or \.html"):
        two_heads.save(tmp_path / "map.gif")


def test_white_space_is_visible() -> None:
    assert [visible(token) for token in (" ", "\n", " a", "", "\t")] == ["␣", "⏎", "a", "∅", "⇥"]
