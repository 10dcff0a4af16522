"""resolve: settings and a corpus → the plan of a run, and for each field who decided it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from regard.config import (
    ModelPlan,
    Plan,
    Settings,
    TokenizerPlan,
    TokenizerSettings,
    TrainingPlan,
    model_fields,
    plan_model,
    preset_fields,
)
from regard.config.check import check
from regard.data.corpus import Corpus
from regard.data.embedded import EMBEDDED
from regard.experiment.adaptation import adapts, choose_adaptation
from regard.experiment.choice import Choice, Choices
from regard.experiment.corpus_statistics import measure_captions, measure_text
from regard.experiment.defaults import (
    choose_languages,
    choose_metric,
    choose_model,
    choose_preset,
    choose_training,
    count_entries,
    measure_workload,
)
from regard.experiment.goal import goal_of
from regard.experiment.init_from import inherit_settings
from regard.experiment.tokenizer_defaults import choose_tokenizer, shared_by_model


def resolve(settings: Settings, corpus: Corpus) -> Plan:
    """The plan of a run: the user decides, then the run of init_from, the preset, the corpus, and plain defaults.

    A pure function: the same settings, corpus and run of init_from give the same plan.
    """
    inherited = inherit_settings(settings)
    given = inherited.model
    if not given.names_architecture:
        given = given.model_copy(update={"preset": corpus.model})
    outline = plan_model(given)
    statistics = measure_text(corpus.train) if corpus.images is None else measure_captions(corpus.train, outline)

    suggested = corpus.tokenizer if settings.data.corpus in EMBEDDED else TokenizerSettings()
    tokenizer_choices = choose_tokenizer(outline, inherited.tokenizer, suggested, statistics)
    forced = shared_by_model(outline)
    taught = statistics.teaches_placeholders and forced is None  # else a single side is text: nothing to place
    tokenizer_choices["placeholders"] = Choice(taught, f"{statistics.placeholders:.1%} of the pairs hold some")
    if outline.is_tagger:
        tokenizer_choices["kind"] = Choice("word", "a tagger labels words")
        tokenizer_choices = {key: choice for key, choice in tokenizer_choices.items() if not key.endswith("_kind")}
    values = {**_values(tokenizer_choices), **inherited.tokenizer.given()}
    tokenizer = TokenizerPlan.model_validate(values if forced is None else {**values, "shared": forced.value})
    metric = choose_metric(outline, corpus, statistics)
    used_metric = settings.training.metric or metric.value
    goal = goal_of(outline, tokenizer, used_metric, settings.data.corpus in EMBEDDED)
    preset = choose_preset(corpus, goal)
    if not inherited.model.names_architecture and preset.value != given.preset:
        given = given.model_copy(update={"preset": preset.value})
        outline = plan_model(given)
    entries = count_entries(outline, tokenizer, corpus, statistics)
    workload = measure_workload(settings.training, outline, tokenizer, statistics, goal, entries)
    fields = model_fields(given)
    model_choices = choose_model(outline, frozenset(fields), workload, statistics, goal, settings.training)
    model = ModelPlan.model_validate({**_values(model_choices), **fields})
    training_choices = choose_training(settings.training, model, workload, metric, goal)
    if adapts(settings):
        training_choices |= choose_adaptation(settings, model, workload.batch_tokens)
    training = TrainingPlan.model_validate({**_values(training_choices), **settings.training.given()})

    languages = choose_languages(corpus)
    data = settings.data.model_copy(update={**_values(languages), **settings.data.given()})
    plan = Plan(data, tokenizer, model, training, settings.search)
    check(plan)
    if inherited.model.preset != given.preset:
        model_choices["preset"] = preset
    choices = {"data": languages, "tokenizer": tokenizer_choices, "model": model_choices, "training": training_choices}
    reasons: dict[str, str] = {}
    for name, section in plan.sections():
        layers = {
            "user": getattr(settings, name).given(),
            f"preset {settings.model.preset}": _fields_of_preset(settings.model.preset, name),
            f"as in {settings.training.init_from}": getattr(inherited, name).given(),
            f"preset {given.preset}": _fields_of_preset(given.preset, name),
        }
        reasons |= {f"{name}.{key}": _reason(key, layers, choices.get(name, {})) for key in type(section).model_fields}
    if forced is not None:
        reasons["tokenizer.shared"] = f"model: {forced.why}"
    return replace(plan, reasons=reasons)


def _reason(key: str, layers: dict[str, dict[str, Any]], choices: Choices) -> str:
    """Who decided a field: the first layer that has it, or the corpus, or nobody."""
    for decider, fields in layers.items():
        if key in fields:
            return decider
    return f"corpus: {choices[key].why}" if key in choices else "default"


def _fields_of_preset(preset: str | None, section: str) -> dict[str, Any]:
    return {} if preset is None or section != "model" else preset_fields(preset)


def _values(choices: Choices) -> dict[str, Any]:
    return {key: choice.value for key, choice in choices.items()}
