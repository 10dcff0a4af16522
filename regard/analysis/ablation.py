"""Interventions: attention silenced, made uniform, permuted or forced, a state patched; through the same taps.

Each function makes a replacement for `watching(model, {tap: replacement})`. Weights are (B, H, T, S); `head` None: all.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from regard.errors import UserError
from regard.models.seq2seq import Model
from regard.nn.attention import Attention, MultiHeadAttention
from regard.nn.taps import Replacement


def silence(head: int | None = None) -> Replacement:
    """Weights of zero: the head's context is zero."""
    return _change(head, torch.zeros_like)


def uniform(head: int | None = None) -> Replacement:
    """Equal weights for all keys that may be attended to."""

    def flat(weights: Tensor) -> Tensor:
        allowed = (weights > 0).to(weights.dtype)
        return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)

    return _change(head, flat)


def permute(seed: int, head: int | None = None) -> Replacement:
    """The same weights, on other keys."""

    def shuffled(weights: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return weights[..., torch.randperm(weights.shape[-1], generator=generator)]

    return _change(head, shuffled)


def force(matrix: Tensor, head: int | None = None) -> Replacement:
    """These weights (T, S) instead of the model's."""
    return _change(head, lambda weights: matrix.to(weights.dtype).expand_as(weights))


def patch(states: Tensor) -> Replacement:
    """This tensor instead of the one at the tap (activation patching)."""
    return lambda _: states


def attention_heads(model: Model) -> dict[str, int]:
    """Every attention of a model, and how many heads it has."""
    heads = {}
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            heads[name] = module.heads if isinstance(module, MultiHeadAttention) else 1
    return heads


def without(model: Model, names: Iterable[str]) -> dict[str, Replacement]:
    """Replacements that silence attentions by name (`decoder.layers.1.cross_attention`), or one head (`….2`)."""
    return changed(model, silenced=names)


def changed(model: Model, silenced: Iterable[str] = (), flattened: Iterable[str] = ()) -> dict[str, Replacement]:
    """Replacements that silence these attentions or heads, and make the weights of those uniform."""
    by_tap: dict[str, list[Replacement]] = {}
    for change, names in ((uniform, flattened), (silence, silenced)):
        for name in names:
            attention, head = _attention_and_head(model, name)
            by_tap.setdefault(f"{attention}.weights", []).append(change(head))
    return {tap: _composed(replacements) for tap, replacements in by_tap.items()}


def _attention_and_head(model: Model, name: str) -> tuple[str, int | None]:
    known = attention_heads(model)
    stem, _, last = name.rpartition(".")
    attention, head = (stem, int(last)) if last.isdecimal() and name not in known else (name, None)
    if attention not in known:
        raise UserError(f"no attention is called {name!r}; this model has: {', '.join(known) or 'none'}")
    if head is not None and head >= known[attention]:
        raise UserError(f"{name}: there is no head {head}; {attention} has heads 0 to {known[attention] - 1}")
    return attention, head


def _composed(replacements: list[Replacement]) -> Replacement:
    def replace(weights: Tensor) -> Tensor:
        for replacement in replacements:
            weights = replacement(weights)
        return weights

    return replace


def _change(head: int | None, change: Replacement) -> Replacement:
    def replace(weights: Tensor) -> Tensor:
        if head is None:
            return change(weights)
        if head >= weights.shape[1]:
            raise UserError(f"there is no head {head}: this attention has heads 0 to {weights.shape[1] - 1}")
        changed = weights.clone()
        changed[:, head] = change(weights[:, head])
        return changed

    return replace
