"""A run that begins with what another has learned: its tokenizers, and its weights wherever names and sizes agree.

So a model goes on with other pairs, and a student begins with layers of its teacher (Shleifer & Rush 2020).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import torch

from regard.checkpoint import read_config, read_facts, read_tokenizers, read_weights
from regard.config import ModelConfig, RunConfig
from regard.config.tree import PICTURE_ENCODERS
from regard.data.pictures import Pictures
from regard.data.tokenizer import Labels, Tokenizer
from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.weights import Weights, weights_of

OWN = {"preset", "depth", "encoder_depth", "decoder_depth", "dropout", "ffn_dropout", "attention_dropout", "augment"}
"""What another model of the same kind need not have: its layers are lent one by one, as far as there are any."""

ALIKE = ("encoder", "decoder", "cell", "width", "encoder_width", "decoder_width", "tied_embeddings")


def follow(config: RunConfig) -> RunConfig:
    """The settings of a run that begins with another: its tokenizers, and its architecture where none was named; of one
    that was, what makes weights fit, where it was left open and both are of a kind."""
    if config.training.begin is None:
        return config
    path = Path(config.training.begin)
    read_facts(path)  # it is a run
    theirs = read_config(path)
    for key in type(config.tokenizer).model_fields:
        given, found = getattr(config.tokenizer, key), getattr(theirs.tokenizer, key)
        if given is not None and given != found:
            raise UserError(
                f"tokenizer.{key} = {given!r}, but {path}, which this run begins with, has {found!r}; leave it out"
            )
    model = _architecture(config.model, theirs.model)
    if _reads(model) != _reads(theirs.model):
        raise UserError(
            f"training.begin = {str(path)!r} {_reads(theirs.model)}, and this model {_reads(model)}; "
            "begin with one that does the same"
        )
    return config.model_copy(update={"tokenizer": theirs.tokenizer, "model": model})


def is_of_a_kind(config: RunConfig, path: Path) -> bool:
    """Whether a student with these settings can begin with the run there: what is alike is worth having."""
    theirs = read_config(path).model
    beginning = config.training.model_copy(update={"begin": str(path)})
    try:
        model = follow(config.model_copy(update={"training": beginning})).model
    except UserError:
        return False
    return all(getattr(model, key) == getattr(theirs, key) for key in ALIKE)


def lent_tokenizers(path: Path, images: Path | None) -> tuple[Tokenizer | Pictures, Tokenizer | Labels]:
    """Those of the run there; pictures are looked for in this corpus's folder."""
    source, target = read_tokenizers(path, read_config(path))
    return source.in_folder(images) if isinstance(source, Pictures) and images is not None else source, target


@torch.no_grad()
def lend(path: Path, model: Model) -> int:
    """Copy the weights of the run there into those of the model that have their names and shapes, module by module;
    how many numbers."""
    theirs, modules = read_weights(path), defaultdict[str, Weights](dict)
    for name, tensor in weights_of(model).items():
        modules[name.rpartition(".")[0]][name] = tensor
    fitting = [
        (tensor, theirs[name])
        for module in modules.values()
        if all(name in theirs and theirs[name].shape == tensor.shape for name, tensor in module.items())
        for name, tensor in module.items()
    ]
    if all(tensor.ndim < 2 for tensor, _ in fitting):
        raise UserError(f"training.begin = {str(path)!r}: none of its matrices fits this model; leave it out")
    for tensor, other in fitting:
        tensor.copy_(other)
    return sum(tensor.numel() for tensor, _ in fitting)


def _architecture(given: ModelConfig, theirs: ModelConfig) -> ModelConfig:
    if not given.named:
        open_fields = set(ModelConfig.model_fields)
    elif (given.encoder, given.decoder) == (theirs.encoder, theirs.decoder):
        open_fields = set(ModelConfig.model_fields) - OWN
    else:
        return given
    fields = theirs.model_dump(exclude_none=True, include=open_fields)
    return ModelConfig.model_validate({**fields, **given.model_dump(exclude_unset=True)})


def _reads(model: ModelConfig) -> str:
    """What goes in and what comes out, for an error."""
    reads = "reads pictures" if model.encoder in PICTURE_ENCODERS else "reads text"
    writes = {"none": "tells classes"}.get(model.decoder, "writes")
    return f"{reads} and {writes}" if model.encoder != "none" else "is a language model"
