"""A run that begins with all of another: smaller steps, and only the parts that are to change."""

from __future__ import annotations

from regard.config import ModelPlan, Settings, TrainingPlan
from regard.errors import UserError
from regard.experiment.choice import Choice, Choices
from regard.experiment.defaults import usual_rate
from regard.models.seq2seq import Model, Seq2Seq

SHARE = 5  # of the usual rate: one step should not undo what many have learned


def adapts(settings: Settings) -> bool:
    """Whether the run takes another's architecture, and so all of its weights; a student takes some."""
    return settings.training.init_from is not None and not settings.model.names_architecture


def choose_adaptation(settings: Settings, model: ModelPlan, batch_tokens: int) -> Choices:
    """What such a run does otherwise. It needs no average: it begins near its end, and five more copies of a large
    model are what memory ends at."""
    optimizer = settings.training.optimizer or "adam"
    rate = float(f"{usual_rate(model, optimizer, batch_tokens) / SHARE:.1g}")
    begins = "begins with another run"
    return {
        "optimizer": Choice(optimizer, begins),
        "rate": Choice(rate, f"{begins}: a fifth of the usual"),
        "weight_decay": Choice(0.0, begins),
        "average": Choice(0, begins),
    }


def freeze(model: Model, training: TrainingPlan) -> None:
    """Only what `training.train` names is trained; a table that both sides share stays as it is."""
    if training.train == "all":
        return
    if not isinstance(model, Seq2Seq):
        raise UserError("training.train = 'decoder' needs an encoder and a decoder; take 'all'")
    for parameter in model.encoder.parameters():
        parameter.requires_grad_(False)
