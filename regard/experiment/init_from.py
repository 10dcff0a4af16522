"""Initialise from another run: its tokenizers, and its weights wherever names and sizes agree.

So a model is fine-tuned on other pairs, and a student starts from layers of its teacher (Shleifer & Rush 2020).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import torch
from torch import Tensor

from regard.checkpoint import load_run, read_facts, read_plan
from regard.config import ModelPlan, ModelSettings, Settings, TokenizerSettings, model_fields, plan_model
from regard.config.check import check_model
from regard.config.values import IMAGE_ENCODERS
from regard.errors import UserError
from regard.models.seq2seq import Model

OWN = {"preset", "depth", "encoder_depth", "decoder_depth", "dropout", "ffn_dropout", "attention_dropout", "augment"}
"""What another model of the same kind need not have: its layers are copied one by one, as far as there are any."""
SIDES = {"depth": ("encoder_depth", "decoder_depth"), "width": ("encoder_width", "decoder_width")}
ALIKE = ("encoder", "decoder", "cell", "width", "encoder_width", "decoder_width", "tied_embeddings")


def inherit_settings(settings: Settings) -> Settings:
    """The settings of a run that starts from another: its tokenizers, and its architecture where none was named; of one
    that was, what makes weights fit, where it was left open and both are of a kind."""
    if settings.training.init_from is None:
        return settings
    path = Path(settings.training.init_from)
    read_facts(path)  # it is a run
    other = read_plan(path)
    for key, value in settings.tokenizer.given().items():
        other_value = getattr(other.tokenizer, key)
        if value != other_value:
            raise UserError(
                f"tokenizer.{key} = {value!r}, but {path}, which training.init_from names, has {other_value!r}; "
                "leave it out"
            )
    model = _architecture(settings.model, other.model)
    if _task(plan_model(model)) != _task(other.model):
        raise UserError(
            f"training.init_from = {str(path)!r} {_task(other.model)}, and this model {_task(plan_model(model))}; "
            "start from one that does the same"
        )
    tokenizer = TokenizerSettings.model_validate(other.tokenizer.given())
    return settings.model_copy(update={"tokenizer": tokenizer, "model": model})


def is_of_a_kind(settings: Settings, path: Path) -> bool:
    """Whether a model that is named by these settings can start from most of the run there, as a student should."""
    other = read_plan(path).model
    training = settings.training.model_copy(update={"init_from": str(path)})
    try:
        model = plan_model(inherit_settings(settings.model_copy(update={"training": training})).model)
    except UserError:
        return False
    return settings.model.names_architecture and all(getattr(model, key) == getattr(other, key) for key in ALIKE)


@torch.no_grad()
def copy_weights(path: Path, model: Model) -> int:
    """Copy the weights of the run there into those of the model that have their names and shapes, module by module;
    how many numbers. A table that has several names, being tied, has all of them, in either."""
    other_weights, modules = load_run(path).model.state_dict(), defaultdict[str, dict[str, Tensor]](dict)
    for name, tensor in model.state_dict().items():
        modules[name.rpartition(".")[0]][name] = tensor
    fitting = [
        (tensor, other_weights[name])
        for module in modules.values()
        if all(name in other_weights and other_weights[name].shape == tensor.shape for name, tensor in module.items())
        for name, tensor in module.items()
    ]
    if all(tensor.ndim < 2 for tensor, _ in fitting):
        raise UserError(f"training.init_from = {str(path)!r}: none of its matrices fits this model; leave it out")
    for tensor, other in fitting:
        tensor.copy_(other)
    return sum({tensor.data_ptr(): tensor.numel() for tensor, _ in fitting}.values())


def _architecture(given: ModelSettings, other: ModelPlan) -> ModelSettings:
    """All of the other's beneath what is set by hand; of a kind that is named, what makes weights fit, where they go
    together at all."""
    named, outline = given.names_architecture, plan_model(given)
    if named and (outline.encoder, outline.decoder) != (other.encoder, other.decoder):
        return given
    by_hand = model_fields(given)
    fields = other.model_dump(exclude_none=True, exclude=OWN if named else set())
    for general, sides in SIDES.items():
        fields = {key: value for key, value in fields.items() if general not in by_hand or key not in sides}
    merged = ModelSettings.model_validate({**fields, **by_hand})
    try:
        check_model(plan_model(merged))
    except UserError:
        if named:
            return given
        raise
    return merged


def _task(model: ModelPlan) -> str:
    """What goes in and what comes out, for an error."""
    if model.encoder == "none":
        return "is a language model"
    source = "reads images" if model.encoder in IMAGE_ENCODERS else "reads text"
    return (
        f"{source} and {'tags words' if model.is_tagger else 'tells classes' if model.decoder == 'none' else 'writes'}"
    )
