"""The search of a call: the recipe's settings with those of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.config import SearchSettings, settle


def search_settings(recipe: SearchSettings, given: SearchSettings | None, fields: Mapping[str, Any]) -> SearchSettings:
    """The search of a recipe with what is set in `given`, and then with `fields`.

    `n_best` outputs need as many beams: where the beams are not set they are raised to that.
    """
    changes = {**(given.model_dump(exclude_unset=True) if given else {}), **fields}
    merged = {**recipe.model_dump(), **changes}
    n_best = changes.get("n_best")
    if "beams" not in changes and isinstance(n_best, int) and not merged["sample"]:
        merged["beams"] = max(recipe.beams, n_best)
    return settle({"search": merged}, where="search").search
