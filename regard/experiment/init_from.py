"""Initialise from another run: its tokenizers, and its weights wherever names and sizes agree.

So a model is fine-tuned on other pairs, and a student starts from layers of its teacher (Shleifer & Rush 2020).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import torch
from torch import Tensor

from regard.checkpoint import load_run, read_config, read_facts
from regard.config import ModelSettings, Settings
from regard.config.check import check
from regard.config.settings import PICTURE_ENCODERS
from regard.errors import UserError
from regard.models.seq2seq import Model

OWN = {"preset", "depth", "encoder_depth", "decoder_depth", "dropout", "ffn_dropout", "attention_dropout", "augment"}
"""What another model of the same kind need not have: its layers are copied one by one, as far as there are any."""
SIDES = {"depth": ("encoder_depth", "decoder_depth"), "width": ("encoder_width", "decoder_width")}
ALIKE = ("encoder", "decoder", "cell", "width", "encoder_width", "decoder_width", "tied_embeddings")


def inherit_settings(config: Settings) -> Settings:
    """The settings of a run that starts from another: its tokenizers, and its architecture where none was named; of one
    that was, what makes weights fit, where it was left open and both are of a kind."""
    if config.training.init_from is None:
        return config
    path = Path(config.training.init_from)
    read_facts(path)  # it is a run
    theirs = read_config(path)
    for key in type(config.tokenizer).model_fields:
        given, found = getattr(config.tokenizer, key), getattr(theirs.tokenizer, key)
        if given is not None and given != found:
            raise UserError(
                f"tokenizer.{key} = {given!r}, but {path}, which training.init_from names, has {found!r}; leave it out"
            )
    model = _architecture(config.model, theirs.model)
    if _reads(model) != _reads(theirs.model):
        raise UserError(
            f"training.init_from = {str(path)!r} {_reads(theirs.model)}, and this model {_reads(model)}; "
            "start from one that does the same"
        )
    return config.model_copy(update={"tokenizer": theirs.tokenizer, "model": model})


def is_of_a_kind(config: Settings, path: Path) -> bool:
    """Whether a model that is named by these settings can start from most of the run there, as a student should."""
    theirs = read_config(path).model
    training = config.training.model_copy(update={"init_from": str(path)})
    try:
        model = inherit_settings(config.model_copy(update={"training": training})).model
    except UserError:
        return False
    return config.model.names_architecture and all(getattr(model, key) == getattr(theirs, key) for key in ALIKE)


@torch.no_grad()
def copy_weights(path: Path, model: Model) -> int:
    """Copy the weights of the run there into those of the model that have their names and shapes, module by module;
    how many numbers. A table that has several names, being tied, has all of them, in either."""
    theirs, modules = load_run(path).model.state_dict(), defaultdict[str, dict[str, Tensor]](dict)
    for name, tensor in model.state_dict().items():
        modules[name.rpartition(".")[0]][name] = tensor
    fitting = [
        (tensor, theirs[name])
        for module in modules.values()
        if all(name in theirs and theirs[name].shape == tensor.shape for name, tensor in module.items())
        for name, tensor in module.items()
    ]
    if all(tensor.ndim < 2 for tensor, _ in fitting):
        raise UserError(f"training.init_from = {str(path)!r}: none of its matrices fits this model; leave it out")
    for tensor, other in fitting:
        tensor.copy_(other)
    return sum({tensor.data_ptr(): tensor.numel() for tensor, _ in fitting}.values())


def _architecture(given: ModelSettings, theirs: ModelSettings) -> ModelSettings:
    """All of theirs beneath what is set by hand; of a kind that is named, what makes weights fit, where they go
    together at all."""
    if given.names_architecture and (given.encoder, given.decoder) != (theirs.encoder, theirs.decoder):
        return given
    by_hand = given.model_dump(exclude_unset=True)
    fields = theirs.model_dump(exclude_none=True, exclude=OWN if given.names_architecture else set())
    for general, sides in SIDES.items():
        fields = {key: value for key, value in fields.items() if general not in by_hand or key not in sides}
    followed = ModelSettings.model_validate({**fields, **by_hand})
    try:
        check(Settings(model=followed))
    except UserError:
        if given.names_architecture:
            return given
        raise
    return followed


def _reads(model: ModelSettings) -> str:
    """What goes in and what comes out, for an error."""
    if model.encoder == "none":
        return "is a language model"
    reads = "reads pictures" if model.encoder in PICTURE_ENCODERS else "reads text"
    return f"{reads} and {'tells classes' if model.decoder == 'none' else 'writes'}"
