"""The modules of the viewer in one file: in order, self-contained, and safe from what a record holds."""

from __future__ import annotations

import json
import re

import pytest

from regard.plotting.viewer import MODULES, asset, viewer_page
from regard.plotting.viewer.assembly import EXPORT, IMPORT, MAIN, STYLE


@pytest.mark.parametrize("name", [*MODULES, MAIN])
def test_a_module_imports_what_stands_before_it(name: str) -> None:
    before = (*MODULES, MAIN)[: (*MODULES, MAIN).index(name)]
    text = asset(name)
    assert text.startswith("// ") and len(text.splitlines()) <= 300
    assert not [line for line in text.splitlines() if len(line) > 120]
    assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(IMPORT.findall(text))
    assert len(re.findall(r"^export\b", text, re.MULTILINE)) == len(EXPORT.findall(text))
    for names, stem in IMPORT.findall(text):
        assert f"{stem}.js" in before
        exported = {exported for _, exported in EXPORT.findall(asset(f"{stem}.js"))}
        assert set(re.findall(r"\w+", names)) <= exported


def test_no_markup_is_made_of_text() -> None:
    for name in (*MODULES, MAIN):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", asset(name))


def test_a_page_is_whole_and_survives_any_token() -> None:
    record = {"kind": "trace", "title": "</script><script>alert(1)</script>", "tokens": ["<!--", "]]>"]}
    html = viewer_page("<b> & </title>", record)
    assert html.count("</script>") == 2 and html.count("<script") == 2
    assert json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]) == record
    assert "<title>regard: &lt;b&gt; &amp; &lt;/title&gt;</title>" in html
    assert not re.search(r"""(src|href)="|url\(|@import""", html)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert asset(STYLE) in html
