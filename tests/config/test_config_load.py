"""Trees become one configuration and a recipe again; what is misspelt is refused with a suggestion."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tiny_plans import tiny_plan

from regard.config import (
    PRESETS,
    Settings,
    merge,
    parse_plan,
    plan_model,
    read_recipe,
    recipe_text,
    settle,
    shipped_recipes,
)
from regard.errors import UserError


def test_later_trees_win_key_by_key() -> None:
    one, two = {"model": {"width": 8, "depth": 2}, "a": 1}, {"model": {"width": 16}, "b": {"c": 2}}
    merged = merge(one, two)
    assert merged == {"model": {"width": 16, "depth": 2}, "a": 1, "b": {"c": 2}}
    assert one == {"model": {"width": 8, "depth": 2}, "a": 1} and two == {"model": {"width": 16}, "b": {"c": 2}}
    assert merge() == {} and merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2} and merge({"a": 2}, {"a": {"b": 1}})["a"]


TREES = st.recursive(
    st.integers(0, 9), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
).filter(lambda tree: isinstance(tree, dict))


@settings(max_examples=50, deadline=None)
@given(TREES, TREES, TREES)
def test_merging_is_associative_has_a_unit_and_repeats_harmlessly(one: dict, two: dict, three: dict) -> None:
    assert merge(one, {}) == merge({}, one) == merge(one, one) == one
    assert merge(one, two, three) == merge(merge(one, two), three)
    assert three.items() >= {key: value for key, value in merge(one, three).items() if key not in one}.items()


def test_a_preset_lies_beneath_what_was_set_by_hand() -> None:
    model = plan_model(settle({"model": {"cell": "gru", "preset": "lstm-dot"}}, {"model": {"width": 10}}).model)
    assert (model.cell, model.score, model.width) == ("gru", "dot", 10)
    later = plan_model(
        settle({"model": {"preset": "transformer", "depth": 5}}, {"model": {"preset": "lstm-dot"}}).model
    )
    assert (later.encoder, later.depth) == ("rnn", 5)


@pytest.mark.parametrize("preset", PRESETS)
def test_settling_leaves_the_presets_as_they_are(preset: str) -> None:
    before = dict(PRESETS[preset].fields)
    tree = {"model": {"preset": preset, "width": 64}}
    settle(tree)
    assert PRESETS[preset].fields == before and tree == {"model": {"preset": preset, "width": 64}}


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        plan_model(settle().model).width = 3


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_a_recipe_reads_back_to_an_equal_plan_with_its_reasons(preset: str | None) -> None:
    plan = tiny_plan({"model": {"preset": preset}} if preset else {}, {"training": {"rate": 1e-5, "epochs": 2.5}})
    plan = replace(plan, reasons={"training.rate": 'corpus: 1e-5 # of "it"', "model.cell": "default"})
    again = parse_plan(recipe_text(plan), "recipe.toml")
    assert again == plan and again.reasons == plan.reasons
    assert "rate = 1e-05  # corpus: 1e-5 # of" in recipe_text(plan)


def test_a_plan_lacks_nothing_that_a_run_needs() -> None:
    text = recipe_text(tiny_plan())
    for line in ("rate = ", "kind = "):
        short = "\n".join(row for row in text.splitlines() if not row.startswith(line))
        with pytest.raises(
            UserError, match=rf"recipe.toml: \w+\.{line.split()[0]} is missing; restore the file"
        ) as caught:
            parse_plan(short, "recipe.toml")
        assert "\n" not in str(caught.value)
    older = "\n".join(row for row in text.splitlines() if not row.startswith(("attention_bias = ", "placeholders = ")))
    assert older != text.rstrip() and parse_plan(older, "recipe.toml") == tiny_plan()
    with pytest.raises(UserError, match=r"recipe.toml is not TOML"):
        parse_plan("[model", "recipe.toml")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\x7f"), max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(list(PRESETS)),
    TEXT,
    st.floats(min_value=1e-12, max_value=1e12),
    st.integers(1, 10**9),
    st.booleans(),
)
def test_any_value_survives_a_recipe(preset: str, corpus: str, rate: float, seed: int, sample: bool) -> None:
    plan = tiny_plan(
        {"model": {"preset": preset}, "data": {"corpus": corpus}},
        {"training": {"rate": rate, "seed": seed}, "search": {"sample": sample}},
    )
    assert parse_plan(recipe_text(replace(plan, reasons={"data.corpus": "user"})), "recipe.toml") == plan


def test_a_recipe_is_complete() -> None:
    """Every field that has a value is written: a later change of defaults changes no old run."""
    plan = tiny_plan({"model": {"preset": "transformer"}})
    tree = tomllib.loads(recipe_text(plan))
    for name, section in plan.sections():
        assert tree[name] == {key: value for key, value in section.model_dump().items() if value is not None}


MISSPELT = [
    ({"model": {"widht": 8}}, r"recipe.toml: unknown key model\.widht = 8, did you mean 'width'\?"),
    ({"training": {"width": 8}}, r"unknown key training\.width = 8, did you mean 'model\.width'\?"),
    ({"modle": {"width": 8}}, r"unknown key modle = .*did you mean 'model'\?"),
    ({"model": {"zzzzqq": 8}}, r"unknown key model\.zzzzqq = 8; `regard train --help-all` lists all keys"),
    ({"width": 8}, r"unknown key width = 8, did you mean 'model\.width'\?"),
    ({"model": {"preset": "transfromer"}}, r"model\.preset = 'transfromer' is unknown, did you mean 'transformer'\?"),
    ({"model": {"width": -1}}, r"recipe.toml: model\.width = -1: input should be greater than 0"),
    ({"model": {"width": "wide"}}, r"recipe.toml: model\.width = 'wide': input should be a valid integer"),
    ({"model": {"cell": "elman"}}, r"model\.cell = 'elman': input should be 'rnn', 'lstm' or 'gru'"),
    ({"model": {"dropout": 1.0}}, r"model\.dropout = 1\.0: input should be less than 1"),
    ({"data": {"lengths": "20"}}, r"data\.lengths = '20': string should match pattern"),
    ({"model": 3}, r"recipe.toml: model = 3: input should be a valid dictionary"),
]


@pytest.mark.parametrize(("tree", "message"), MISSPELT, ids=lambda part: str(part)[:40])
def test_a_mistake_is_one_line_with_key_value_and_remedy(tree: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        settle(tree, where="recipe.toml")
    assert "\n" not in str(caught.value)


def test_recipes_are_files_or_names_of_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[model]\npreset = "transformer"\n')
    assert read_recipe(str(path)) == {"model": {"preset": "transformer"}}
    with pytest.raises(UserError, match="there is no recipe"):
        read_recipe(str(tmp_path / "other.toml"))
    path.write_text("[model\n")
    with pytest.raises(UserError, match=r"mine\.toml is not TOML") as caught:
        read_recipe(str(path))
    assert "\n" not in str(caught.value)
    path.write_bytes(b'a = "\xff"\n')
    with pytest.raises(UserError, match=r"mine\.toml is not TOML"):
        read_recipe(str(path))


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_is_valid(name: str) -> None:
    assert isinstance(settle(read_recipe(name), where=name), Settings)


def test_every_field_says_what_it_is() -> None:
    for section in Settings.model_fields.values():
        for key, field in section.get_default().__class__.model_fields.items():
            assert field.description, key


@pytest.mark.parametrize(("given", "meant"), [("2", 2), (0, 0), ("none", "none"), ("mean", "mean")])
def test_a_named_position_may_come_as_text(given: object, meant: object) -> None:
    assert settle({"model": {"preset": "lstm-classifier", "pooling": given}}).model.pooling == meant
