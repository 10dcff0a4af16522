"""Plans without a corpus: what is set, and plain values for the rest."""

from __future__ import annotations

from regard.config import Plan, TokenizerPlan, TrainingPlan, Tree, plan_model, settle
from regard.config.values import IMAGE_ENCODERS


def tiny_plan(*trees: Tree) -> Plan:
    settings = settle(*trees)
    model = plan_model(settings.model)
    shared = model.encoder not in IMAGE_ENCODERS
    kind = "word" if model.is_tagger else "character"
    tokenizer = {"kind": kind, "size": 300, "shared": shared, **settings.tokenizer.given()}
    training = {"rate": 1e-3, **settings.training.given()}
    return Plan(
        settings.data,
        TokenizerPlan.model_validate(tokenizer),
        model,
        TrainingPlan.model_validate(training),
        settings.search,
    )
