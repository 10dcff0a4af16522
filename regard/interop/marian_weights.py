"""Marian's Transformer and ours: the same layers, with other names and the features in another order.

Marian's sinusoid has all sines before all cosines, ours a sine beside its cosine. The order of features is a matter of
names: we permute them in every matrix that reads or writes the residual path.

    ours[2i] = theirs[i],  ours[2i + 1] = theirs[D/2 + i]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

ATTENTIONS = {"self_attn": ("self_attention", "self_residual"), "encoder_attn": ("cross_attention", "cross_residual")}
PROJECTIONS = {"q_proj": "query_proj", "k_proj": "key_proj", "v_proj": "value_proj"}


def feature_order(width: int) -> Tensor:
    """For each of our features the place of theirs."""
    sines = (width + 1) // 2
    order = torch.empty(width, dtype=torch.long)
    order[0::2], order[1::2] = torch.arange(sines), torch.arange(sines, width)
    return order


def layer_pairs(side: str, layers: int) -> Iterator[tuple[str, str, str]]:
    """Our name, theirs, and which axis runs over the features: "in", "out", or "one" of a vector."""
    attentions = ATTENTIONS if side == "decoder" else {"self_attn": ATTENTIONS["self_attn"]}
    for layer in range(layers):
        ours, theirs = f"{side}.layers.{layer}", f"model.{side}.layers.{layer}"
        for attention, (name, residual) in attentions.items():
            for projection, own in PROJECTIONS.items():
                yield f"{ours}.{name}.{own}.weight", f"{theirs}.{attention}.{projection}.weight", "in"
                yield f"{ours}.{name}.{own}.bias", f"{theirs}.{attention}.{projection}.bias", ""
            yield f"{ours}.{name}.output_proj.weight", f"{theirs}.{attention}.out_proj.weight", "out"
            yield f"{ours}.{name}.output_proj.bias", f"{theirs}.{attention}.out_proj.bias", "out"
            for part in ("weight", "bias"):
                yield f"{ours}.{residual}.norm.{part}", f"{theirs}.{attention}_layer_norm.{part}", "out"
        yield f"{ours}.feed_forward.inner_proj.weight", f"{theirs}.fc1.weight", "in"
        yield f"{ours}.feed_forward.inner_proj.bias", f"{theirs}.fc1.bias", ""
        for part in ("weight", "bias"):
            yield f"{ours}.feed_forward.output_proj.{part}", f"{theirs}.fc2.{part}", "out"
            yield f"{ours}.ffn_residual.norm.{part}", f"{theirs}.final_layer_norm.{part}", "out"


def permuted(tensor: Tensor, axis: str, order: Tensor) -> Tensor:
    """With its features in this order."""
    if axis == "in":
        return tensor[:, order]
    return tensor[order] if axis == "out" else tensor


def chosen_rows(table: Tensor, rows: Sequence[int]) -> Tensor:
    return table[torch.tensor(rows)]


def our_layers(theirs: Mapping[str, Tensor], depths: tuple[int, int], width: int) -> dict[str, Tensor]:
    """The layers of both sides. KeyError where one is missing."""
    order = feature_order(width)
    sides = zip(("encoder", "decoder"), depths, strict=True)
    pairs = [pair for side, depth in sides for pair in layer_pairs(side, depth)]
    return {own: permuted(theirs[name].float(), axis, order) for own, name, axis in pairs}


def their_layers(ours: Mapping[str, Tensor], depths: tuple[int, int], width: int) -> dict[str, Tensor]:
    """The same the other way."""
    order = feature_order(width).argsort()
    sides = zip(("encoder", "decoder"), depths, strict=True)
    pairs = [pair for side, depth in sides for pair in layer_pairs(side, depth)]
    return {name: permuted(ours[own], axis, order).contiguous() for own, name, axis in pairs}
