"""Pages need nothing from outside."""

from __future__ import annotations

import re

from regard.plotting import line_chart, page, table


def test_a_page_is_whole_in_itself() -> None:
    html = page("a <title>", [table(["x", "y"], [["1", "2"]]), line_chart("", [])])
    assert "a &lt;title&gt;" in html and "<td>2</td>" in html
    assert not re.search(r"""(src|href)\s*=|url\(|@import""", html)
