"""Every recipe that ships settles, says in its first line what it is, and trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.cli import main
from regard.config import read_recipe, settle, shipped_recipes

RECIPES = shipped_recipes()


def test_recipes_ship() -> None:
    assert {"dates", "addition", "reverse", "stories", "languages", "prose"} <= set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains(name: str, desk: Path) -> None:
    """A few steps, a look at the development set and a test, on a cut corpus (see conftest.py)."""
    assert RECIPES[name].read_text(encoding="utf-8").startswith("# ")
    assert main(["train", name]) == 0
    assert main(["evaluate", f"runs/{name}", "--beams", "1"]) == 0


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_in_a_run_is_complete(name: str, desk: Path) -> None:
    """A run's own recipe gives the same settings and the same weights again."""
    assert main(["train", name, "--out", "one"]) == 0
    assert main(["train", "one/recipe.toml", "--out", "two"]) == 0
    once, again = (settle(read_recipe(f"{run}/recipe.toml")) for run in ("one", "two"))
    assert once == again
    weights = [Path(run, "model.safetensors").read_bytes() for run in ("one", "two")]
    assert weights[0] == weights[1]
