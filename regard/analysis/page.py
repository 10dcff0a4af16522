"""Attention maps as one page that works offline: choose the attention and the head, point at a cell for its weight."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.analysis.maps import AttentionMap


def page(title: str, maps: Sequence[AttentionMap], first: int = 0) -> str:
    """Self-contained HTML with all maps in it; `first` is shown when it opens."""
    data = {"title": title, "first": first, "maps": [_record(one) for one in maps]}
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")  # a token may be </script>
    template = (resources.files("regard.analysis") / "page.html").read_text(encoding="utf-8")
    return template.replace("/*DATA*/", text)


def _record(one: AttentionMap) -> dict[str, object]:
    weights = [[[round(weight, 4) for weight in row] for row in head] for head in one.weights.tolist()]
    return {"name": one.name, "rows": one.row_labels, "columns": one.column_labels, "weights": weights}
