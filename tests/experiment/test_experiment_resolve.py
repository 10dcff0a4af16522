"""Every value of a plan has a word on who decided it: the user, another run, the preset, the corpus, or nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_experiment_defaults import chosen, corpus

from regard.checkpoint import read_plan
from regard.config import PRESETS, read_recipe, settle
from regard.data.corpus import load_corpus
from regard.experiment import resolve, run_experiment

TINY: dict[str, Any] = {
    "data": {"corpus": "copy", "examples": 120, "dev_examples": 20, "test_examples": 10, "lengths": "1-5"},
    "model": {"preset": "lstm-dot", "width": 16},
    "training": {"steps": 4, "rate": 2e-3, "batch_tokens": 128, "evaluate_every": 2, "threads": 1},
}


def test_the_user_the_preset_the_corpus_and_nobody() -> None:
    plan = chosen(corpus(3000, 12), model={"preset": "lstm-dot", "depth": 2}, training={"rate": 0.01, "seed": 7})
    deciders = {
        "model.preset": "user",
        "model.depth": "user",
        "model.cell": "preset lstm-dot",
        "model.score": "preset lstm-dot",
        "model.width": "corpus: 3,000 different sources, no more pays",
        "model.query": "corpus: sentences",
        "model.heads": "default",
        "training.rate": "user",
        "training.seed": "user",
        "training.clip": "default",
        "training.label_smoothing": "corpus: sentences",
        "search.beams": "default",
        "data.pairs": "user",
    }
    assert {key: plan.reasons[key] for key in deciders} == deciders
    assert plan.reasons["tokenizer.kind"].startswith("corpus: text, ")
    values = {f"{name}.{key}" for name, section in plan.sections() for key in type(section).model_fields}
    assert plan.reasons.keys() == values


def test_the_corpus_names_the_preset_and_the_preset_its_fields() -> None:
    plan = chosen(corpus(500, 8), model={"width": 48})
    assert plan.reasons["model.preset"] == "corpus: what suits this corpus"
    assert plan.reasons["model.encoder"] == "preset transformer" and plan.reasons["model.width"] == "user"
    language = chosen(corpus(500, 8), model={"preset": "transformer-language"})
    assert language.reasons["tokenizer.shared"] == "model: a language model has one vocabulary"


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive", "convolution", "transformer-language"])
def test_a_plan_taken_as_settings_is_the_same_plan(preset: str) -> None:
    text = corpus(3000, 12)
    plan = chosen(text, model={"preset": preset})
    again = resolve(settle({name: section.given() for name, section in plan.sections()}), text)
    assert again == plan and set(again.reasons.values()) <= {
        "user",
        "default",
        "model: a language model has one vocabulary",
    }


def test_a_recipe_shows_who_decided_and_a_run_from_it_is_the_same(tmp_path: Path) -> None:
    run_experiment(settle(TINY), tmp_path / "run", progress=False)
    recipe = (tmp_path / "run" / "recipe.toml").read_text()
    assert "\nrate = 0.002  # user\n" in recipe and '\nscore = "dot"  # preset lstm-dot\n' in recipe
    assert '\noptimizer = "adam"  # corpus: rules, decoder rnn\n' in recipe
    plan = read_plan(tmp_path / "run")
    settings = settle(TINY)
    fresh = resolve(settings, load_corpus(settings.data))
    assert plan == fresh
    written = {f"{name}.{key}" for name, section in plan.sections() for key in section.model_dump(exclude_none=True)}
    assert plan.reasons == {key: reason for key, reason in fresh.reasons.items() if key in written}

    run_experiment(settle(read_recipe(str(tmp_path / "run" / "recipe.toml"))), tmp_path / "again", progress=False)
    assert read_plan(tmp_path / "again") == plan
    names = ("model", "last", "training")
    one, two = (
        [(tmp_path / run / f"{name}.safetensors").read_bytes() for name in names[:2]] for run in ("run", "again")
    )
    assert one == two


def test_what_is_extended_is_the_users_and_the_rest_keeps_its_reason(tmp_path: Path) -> None:
    run_experiment(settle(TINY), tmp_path / "run", progress=False)
    before = read_plan(tmp_path / "run").reasons
    run_experiment(settle({"training": {"patience": 9}}), tmp_path / "run", resume=True, progress=False)
    after = read_plan(tmp_path / "run")
    assert after.training.patience == 9
    assert before["training.patience"].startswith("corpus: ")
    assert after.reasons == {**before, "training.patience": "user"}


def test_what_another_run_gives_says_so(tmp_path: Path) -> None:
    other = tmp_path / "run"
    run_experiment(settle(TINY), other, progress=False)
    settings = settle({"data": {**TINY["data"], "corpus": "reverse"}, "training": {"init_from": str(other)}})
    reasons = resolve(settings, load_corpus(settings.data)).reasons
    assert reasons["model.width"] == reasons["tokenizer.kind"] == reasons["model.preset"] == f"as in {other}"
    assert reasons["training.init_from"] == "user" and reasons["training.rate"].startswith("corpus: ")


def test_every_preset_has_a_reason_for_each_of_its_fields() -> None:
    text = corpus(500, 8)
    for name, preset in PRESETS.items():
        if name.startswith("image"):
            continue
        plan = chosen(text, model={"preset": name})
        assert {plan.reasons[f"model.{key}"] for key in preset.fields} == {f"preset {name}"}
