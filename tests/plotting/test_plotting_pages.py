"""Pages need nothing from outside."""

from __future__ import annotations

import json
import re

from regard.plotting import HeatMap, line_chart, page, table
from regard.plotting.pages import attention_page, overlay_page


def test_a_page_is_whole_in_itself() -> None:
    html = page("a <title>", [table(["x", "y"], [["1", "2"]]), line_chart("", [])])
    assert "a &lt;title&gt;" in html and "<td>2</td>" in html
    assert not re.search(r"""(src|href)\s*=|url\(|@import""", html)


def test_pages_hold_their_data_and_survive_a_script_token() -> None:
    shown = HeatMap("decoder.attention", [[[0.25, 0.75]]], ["</script>"], ["a", "b"])
    attention = attention_page("t", [shown], 0)
    overlay = overlay_page("data:image/png;base64,", ["</script>"], ["a"], [[[[[1.0]]]]])
    for html, name, value in ((attention, "maps", vars(shown)), (overlay, "words", "</script>")):
        assert html.count("</script>") == 2  # the data and the program; not the token
        data = json.loads(re.search(r'type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)[1])
        assert data[name][0] == value
