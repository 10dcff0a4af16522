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
    """Nothing is looked at: the head's context is zero."""
    return _change(head, torch.zeros_like)


def uniform(head: int | None = None) -> Replacement:
    """Everything that may be looked at is looked at equally."""

    def flat(weights: Tensor) -> Tensor:
        allowed = (weights > 0).to(weights.dtype)
        return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)

    return _change(head, flat)


def permute(seed: int, head: int | None = None) -> Replacement:
    """The same weights on other keys: how much is looked at stays, where changes."""

    def shuffled(weights: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return weights[..., torch.randperm(weights.shape[-1], generator=generator)]

    return _change(head, shuffled)


def force(matrix: Tensor, head: int | None = None) -> Replacement:
    """These weights (T, S) instead, whatever the model would look at."""
    return _change(head, lambda weights: matrix.to(weights.dtype).expand_as(weights))


def patch(states: Tensor) -> Replacement:
    """This tensor instead of the one at the tap."""
    return lambda _: states


def attention_heads(model: Model) -> dict[str, int]:
    """Everything in a model that attends, and how many heads it has."""
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            found[name] = module.heads if isinstance(module, MultiHeadAttention) else 1
    return found


def without(model: Model, names: Iterable[str]) -> dict[str, Replacement]:
    """Replacements that silence attentions by name (`decoder.layers.1.cross_attention`), or one head (`….2`)."""
    known = attention_heads(model)
    silenced: dict[str, list[int | None]] = {}
    for name in names:
        stem, _, last = name.rpartition(".")
        attention, head = (stem, int(last)) if last.isdecimal() and name not in known else (name, None)
        if attention not in known:
            raise UserError(f"no attention is called {name!r}; this model has: {', '.join(known) or 'none'}")
        if head is not None and head >= known[attention]:
            raise UserError(f"{name}: there is no head {head}; {attention} has heads 0 to {known[attention] - 1}")
        silenced.setdefault(f"{attention}.weights", []).append(head)
    return {tap: _each([silence(head) for head in heads]) for tap, heads in silenced.items()}


def _each(replacements: list[Replacement]) -> Replacement:
    def replace(weights: Tensor) -> Tensor:
        for one in replacements:
            weights = one(weights)
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
