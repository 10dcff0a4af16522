"""Recipe, preset and overrides become one checked Settings; and a Settings becomes a recipe again."""

from __future__ import annotations

import difflib
import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.config.check import check
from regard.config.presets import PRESETS
from regard.config.settings import Settings
from regard.errors import UserError

Tree = dict[str, Any]


def shipped_recipes() -> dict[str, Path]:
    """Name → file of the recipes inside the package."""
    folder = Path(str(resources.files("regard") / "recipes"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_recipe(name: str) -> Tree:
    """A TOML file, or the name of one that ships with the package, as a plain tree."""
    shipped = shipped_recipes()
    path = shipped.get(name) or Path(name)
    if not path.is_file():
        raise UserError(
            f"there is no recipe {name!r}: give a TOML file or one of {', '.join(shipped)}{near(name, shipped)}"
        )
    if path.suffix in (".tsv", ".jsonl", ".gz", ".txt"):
        raise UserError(f"{name} is not a recipe; to train on the pairs in it: regard train --data.pairs {name}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None


def merge(*trees: Tree) -> Tree:
    """Later trees win, key by key."""
    merged: Tree = {}
    for tree in trees:
        for key, value in tree.items():
            both_are_trees = isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = merge(merged[key], value) if both_are_trees else value
    return merged


def settle(*trees: Tree, where: str = "settings") -> Settings:
    """The checked configuration of merged trees, with the preset's fields beneath what was set by hand."""
    tree = merge(*trees)
    model = tree.get("model")
    name = model.get("preset") if isinstance(model, dict) else None
    if isinstance(name, str):  # anything else is refused below
        tree = merge({"model": preset_fields(name)}, tree)
    try:
        config = Settings.model_validate(tree)
    except ValidationError as error:
        raise UserError(first_problem(error, where)) from None
    check(config)
    return config


def preset_fields(name: str) -> Tree:
    if name not in PRESETS:
        raise UserError(f"model.preset = {name!r} is unknown{near(name, PRESETS)}; presets: {', '.join(PRESETS)}")
    return PRESETS[name].fields


def recipe_text(config: Settings) -> str:
    """The configuration as TOML that `settle` reads back to an equal one."""
    lines: list[str] = []
    for section, fields in config.model_dump(exclude_none=True).items():
        lines.append(f"[{section}]")
        for key, value in fields.items():  # TOML's strings are JSON's, except that DEL must be escaped
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f"))
        lines.append("")
    return "\n".join(lines)


def near(word: str, known: Any) -> str:
    """', did you mean …?' where something known is spelled alike, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean {close[0]!r}?" if close else ""


def first_problem(error: object, where: str) -> str | None:
    """The first thing that validation found, in one line; None for any other error."""
    if not isinstance(error, ValidationError):
        return None
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        *path, last = [str(part) for part in problem["loc"]]
        sections = {name: info.get_default().__class__ for name, info in Settings.model_fields.items()}
        elsewhere = [f"{name}.{last}" for name, section in sections.items() if last in section.model_fields]
        hint = (
            f", did you mean {elsewhere[0]!r}?"
            if elsewhere
            else near(last, sections[path[0]].model_fields if path else sections)
        )
        return f"{where}: unknown key {key} = {problem['input']!r}{hint}; `regard train --help` lists all keys"
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{where}: {key} = {problem['input']!r}: {message}" if key else f"{where} = {problem['input']}: {message}"
