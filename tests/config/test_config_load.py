"""Trees become one configuration and a recipe again; what is misspelt is refused with a suggestion."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from regard.config import PRESETS, Settings, merge, read_recipe, recipe_text, settle, shipped_recipes
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
    config = settle({"model": {"cell": "gru", "preset": "lstm-dot"}}, {"model": {"width": 10}})
    assert (config.model.cell, config.model.score, config.model.width) == ("gru", "dot", 10)
    later = settle({"model": {"preset": "transformer", "depth": 5}}, {"model": {"preset": "lstm-dot"}})
    assert (later.model.encoder, later.model.depth) == ("rnn", 5)


@pytest.mark.parametrize("preset", PRESETS)
def test_settling_leaves_the_presets_as_they_are(preset: str) -> None:
    before = dict(PRESETS[preset].fields)
    tree = {"model": {"preset": preset, "width": 64}}
    settle(tree)
    assert PRESETS[preset].fields == before and tree == {"model": {"preset": preset, "width": 64}}


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        settle().model.width = 3


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_a_recipe_reads_back_to_an_equal_configuration(preset: str | None) -> None:
    config = settle({"model": {"preset": preset}} if preset else {}, {"training": {"rate": 1e-5, "epochs": 2.5}})
    assert settle(tomllib.loads(recipe_text(config))) == config


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(list(PRESETS)),
    TEXT,
    st.floats(min_value=1e-12, max_value=1e12),
    st.integers(1, 10**9),
    st.booleans(),
)
def test_any_value_survives_a_recipe(preset: str, corpus: str, rate: float, seed: int, sample: bool) -> None:
    config = settle(
        {"model": {"preset": preset}, "data": {"corpus": corpus}},
        {"training": {"rate": rate, "seed": seed}, "search": {"sample": sample}},
    )
    assert settle(tomllib.loads(recipe_text(config))) == config


def test_a_recipe_is_complete() -> None:
    """Every field that has a value is written: a later change of defaults changes no old run."""
    config = settle({"model": {"preset": "transformer"}})
    tree = tomllib.loads(recipe_text(config))
    for section, fields in config.model_dump().items():
        assert tree[section] == {key: value for key, value in fields.items() if value is not None}


MISSPELT = [
    ({"model": {"widht": 8}}, r"recipe.toml: unknown key model\.widht = 8, did you mean 'width'\?"),
    ({"training": {"width": 8}}, r"unknown key training\.width = 8, did you mean 'model\.width'\?"),
    ({"modle": {"width": 8}}, r"unknown key modle = .*did you mean 'model'\?"),
    ({"model": {"zzzzqq": 8}}, r"unknown key model\.zzzzqq = 8; `regard train --help` lists all keys"),
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
