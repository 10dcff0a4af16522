"""Recipes and overrides become checked Settings; a Plan becomes a recipe, and is read from it again."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from regard.config.check import check
from regard.config.plan import ModelPlan, Plan, TokenizerPlan, TrainingPlan
from regard.config.section import Section, has_plain_value, how_chosen
from regard.config.settings import Settings
from regard.config.spelling import near
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
    if "\0" in name or not path.is_file():
        raise UserError(
            f"there is no recipe {name!r}: give a TOML file or one of {', '.join(shipped)}{near(name, shipped)}"
        )
    if path.suffix in (".tsv", ".jsonl", ".gz", ".txt"):
        raise UserError(f"{name} is not a recipe; to train on the pairs in it: regard train --data.pairs {name}")
    try:
        return read_toml(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None


def read_toml(text: str, where: str) -> Tree:
    """A tree of plain values. Numbers of thousands of digits and thousands of levels are refused, too."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{where} is not TOML that can be read: its values are nested too deeply") from None
    except ValueError as error:  # of tomllib, or of a number with too many digits
        raise UserError(f"{where} is not TOML: {error}") from None


def merge(*trees: Tree) -> Tree:
    """Later trees win, key by key."""
    merged: Tree = {}
    for tree in trees:
        for key, value in tree.items():
            both_are_trees = isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = merge(merged[key], value) if both_are_trees else value
    return merged


def settle(*trees: Tree, where: str = "settings") -> Settings:
    """The checked settings of merged trees."""
    try:
        settings = Settings.model_validate(merge(*trees))
    except ValidationError as error:
        raise UserError(first_problem(error, where) or str(error)) from None
    check(settings)
    return settings


def recipe_text(plan: Plan) -> str:
    """The plan as TOML, with who decided each value beside it."""
    lines: list[str] = []
    for section, fields in plan.sections():
        lines.append(f"[{section}]")
        for key, value in fields.model_dump(exclude_none=True).items():
            # TOML's strings are JSON's, except that DEL must be escaped
            text = f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
            reason = plan.reasons.get(f"{section}.{key}")
            lines.append(text if reason is None else f"{text}  # {reason}")
        lines.append("")
    return "\n".join(lines)


def parse_plan(text: str, where: str) -> Plan:
    """The plan that `recipe_text` wrote."""
    settings = settle(read_toml(text, where), where=where)
    return Plan(
        settings.data,
        TokenizerPlan.model_validate(_complete(settings, "tokenizer", TokenizerPlan, where)),
        ModelPlan.model_validate(_complete(settings, "model", ModelPlan, where)),
        TrainingPlan.model_validate(_complete(settings, "training", TrainingPlan, where)),
        settings.search,
        _read_reasons(text),
    )


def _complete(settings: Settings, name: str, section: type[Section], where: str) -> Tree:
    """The values of a section, refused where one is missing that a run needs.

    A run that was trained before there was a field has the field's plain value.
    """
    values = getattr(settings, name).given()
    for key, field in section.model_fields.items():
        needed = how_chosen(section, key) and not has_plain_value(section, key)
        if key not in values and needed and type(None) not in get_args(field.annotation):
            raise UserError(f"{where}: {name}.{key} is missing; restore the file or train again")
    return values


def _read_reasons(text: str) -> dict[str, str]:
    """The comments beside the values, by 'section.key'."""
    reasons, section, decoder = {}, "", json.JSONDecoder()
    for line in text.splitlines():
        key, equals, rest = line.partition(" = ")
        if line.startswith("["):
            section = line.strip("[] ")
        elif equals:
            try:
                _, end = decoder.raw_decode(rest)
            except json.JSONDecodeError:  # TOML that no plan was written in
                continue
            if rest[end:].startswith("  # "):
                reasons[f"{section}.{key}"] = rest[end + 4 :]
    return reasons


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
        return f"{where}: unknown key {key} = {problem['input']!r}{hint}; `regard train --help-all` lists all keys"
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{where}: {key} = {problem['input']!r}: {message}" if key else f"{where} = {problem['input']}: {message}"
