"""A model's weights by name, and files of tensors that say so when they are damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from regard.errors import UserError
from regard.files import write_bytes

Weights = dict[str, Tensor]
OTHER = "it belongs to another recipe"


def weights_of(model: nn.Module) -> Weights:
    """Parameters (a tied one once) and persistent buffers by name: the model's own tensors, not copies."""
    lasting = model.state_dict().keys()
    named = dict(model.named_parameters())
    named |= {name: buffer for name, buffer in model.named_buffers() if name in lasting}
    return {name: tensor.detach() for name, tensor in named.items()}


def clone_weights(weights: Weights) -> Weights:
    return {name: tensor.clone() for name, tensor in weights.items()}


def check_names_and_shapes(model: nn.Module, file: Path) -> None:
    """Refuse a file whose header is not that of these weights; nothing but the header is read."""
    need(file)
    try:
        with safe_open(file, framework="pt") as opened:
            shapes = {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RuntimeError, OSError, OverflowError) as error:
        raise damaged(file, error) from None
    _check_names(weights_of(model).keys(), shapes.keys(), str(file))
    for name, tensor in weights_of(model).items():
        if tuple(tensor.shape) != shapes[name]:
            raise UserError(
                f"{file}: {name!r} has the shape {shapes[name]}, and the model has {tuple(tensor.shape)}; {OTHER}"
            )


def check_finite(model: nn.Module, where: str) -> None:
    """Refuse weights that are no numbers: they would give an output without a word."""
    for name, tensor in weights_of(model).items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise UserError(f"{where}: {name!r} holds values that are not finite; restore the file or train again")


@torch.no_grad()
def load_weights(model: nn.Module, weights: Weights, where: str) -> None:
    """Copy the values into the model; names and shapes must be the model's. `where` is named in errors."""
    own = weights_of(model)
    _check_names(own.keys(), weights.keys(), where)
    for name in own:
        if own[name].shape != weights[name].shape or own[name].dtype != weights[name].dtype:
            shapes = f"{tuple(weights[name].shape)}, and the model has {tuple(own[name].shape)}"
            raise UserError(f"{where}: {name!r} has the shape {shapes}; {OTHER}")
    for name, tensor in own.items():
        tensor.copy_(weights[name])


def write_tensors(path: Path, tensors: Weights, numbers: dict[str, Any] | None = None) -> None:
    """Tensors and a JSON record (in the file's header) as one safetensors file."""
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    # one key alone: the library writes several in an order that changes from time to time
    header = {"regard": json.dumps({"digest": _digest(whole, numbers or {}), "numbers": numbers or {}})}
    write_bytes(path, safetensors.torch.save(whole, header))


def read_tensors(path: Path) -> tuple[Weights, dict[str, Any]]:
    need(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["regard"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if not isinstance(header, dict) or not isinstance(header.get("numbers"), dict):
            raise ValueError("its header is not one of regard's")
        if header.get("digest") != _digest(tensors, header["numbers"]):
            raise ValueError("its checksum is wrong")
        return tensors, header["numbers"]
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, RecursionError, OSError) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> UserError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UserError(f"{path} is damaged ({reason}); restore it or train again")


def _check_names(own: Collection[str], given: Collection[str], where: str) -> None:
    for name in [*own, *given]:
        if name not in own or name not in given:
            problem = f"holds {name!r}, which the model lacks" if name in given else f"lacks {name!r}"
            raise UserError(f"{where} {problem}: it is damaged or belongs to another recipe; restore it or train again")


def _digest(tensors: Weights, numbers: dict[str, Any]) -> str:
    """A checksum, since safetensors has none: a flipped bit would otherwise only be a slightly worse model."""
    digest = hashlib.blake2b(json.dumps(numbers).encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def need(file: Path) -> None:
    if not file.is_file():
        raise UserError(f"{file.parent} is not a whole run: {file.name} is missing; restore it or train again")
