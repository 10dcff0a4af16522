"""Interventions: attention silenced, made uniform, permuted or forced, a state patched; through the same taps.

Each function makes a replacement for `watching(model, {tap: replacement})`. Weights are (B, H, T, S); `head` None: all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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


def attend_to(place: int, head: int | None = None) -> Replacement:
    """All weight on the key at this place, from 0, whatever the query: as `force`, but for each step of a search."""

    def one_key(weights: Tensor) -> Tensor:
        if not 0 <= place < weights.shape[-1]:
            raise UserError(f"there is no key {place} to attend to: there are {weights.shape[-1]}, from 0")
        forced = torch.zeros_like(weights)
        forced[..., place] = 1
        return forced

    return _change(head, one_key)


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
    return {tap: composed(replacements) for tap, replacements in by_tap.items()}


def moved(
    model: Model, permuted: Iterable[str] = (), seed: int = 1, forced: Mapping[str, int] | None = None
) -> dict[str, Replacement]:
    """Replacements that give the weights of these attentions or heads to other keys, or all weight to one key."""
    by_tap: dict[str, list[Replacement]] = {}
    for name in permuted:
        attention, head = _attention_and_head(model, name)
        by_tap.setdefault(f"{attention}.weights", []).append(permute(seed, head))
    for name, place in (forced or {}).items():
        attention, head = _attention_and_head(model, name)
        by_tap.setdefault(f"{attention}.weights", []).append(attend_to(place, head))
    return {tap: composed(replacements) for tap, replacements in by_tap.items()}


def patched(name: str, states: Tensor) -> Replacement:
    """These states (1, S, D) of another source instead of the model's, for every row; the lengths must be equal."""

    def replace(own: Tensor) -> Tensor:
        if own.shape[1:] != states.shape[1:]:
            raise UserError(
                f"{name}: the other text has {states.shape[1]} positions and this one {own.shape[1]}; take texts of "
                "equal length"
            )
        return states.to(own.dtype).expand_as(own)

    return replace


def _attention_and_head(model: Model, name: str) -> tuple[str, int | None]:
    known = attention_heads(model)
    stem, _, last = name.rpartition(".")
    attention, head = (stem, int(last)) if last.isdecimal() and name not in known else (name, None)
    if attention not in known:
        raise UserError(f"no attention is called {name!r}; this model has: {', '.join(known) or 'none'}")
    if head is not None and head >= known[attention]:
        raise UserError(f"{name}: there is no head {head}; {attention} has heads 0 to {known[attention] - 1}")
    return attention, head


def composed(replacements: Sequence[Replacement]) -> Replacement:
    """One after the other."""

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
