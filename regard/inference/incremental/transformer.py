"""Incremental decoding by a Transformer.

Queries, keys and values of a layer are one product; the memory's keys and values of all layers are one product,
computed once; those of the tokens so far stand in one tensor with room for more, so that beams are reordered in one
copy. The product that computes a sublayer's output also adds the residual. In a layer no module is called: for a row or
a few, the call costs as much as the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.inference.incremental.model import IncrementalModel
from regard.inference.incremental.output import OutputLayer, PackedOutput
from regard.kernels.packed_linear import transposed
from regard.models.seq2seq import Memory, Record, Seq2Seq
from regard.models.transformer import DecoderLayer, TransformerDecoder
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import Residual
from regard.nn.masks import causal_mask, key_mask
from regard.nn.positions import alibi, rotations

ROOM = 16  # tokens that are decoded before the first copy into a larger room
ROTATIONS = 256  # positions whose rotations are computed once

Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class SourceCache(Record):
    """The memory's keys and values side by side: (B, L, 2·H, S, K)."""

    keys_values: Tensor
    padding: Tensor | None  # (B, 1, 1, S): zero, or -inf where there is padding; None: no padding


@dataclass(frozen=True)
class TargetCache(Record):
    """Keys and values of the tokens so far. It may be continued once: the next step writes into its room."""

    keys_values: Tensor  # (R, L, 2·H, room, K)
    length: int


@dataclass(frozen=True)
class Norms:
    """What is done before and after a sublayer: one of them is the layer norm, or neither."""

    before: Change
    after: Change

    @classmethod
    def of(cls, residual: Residual) -> Self:
        norm, position = norm_function(residual.norm), residual.norm_position
        return cls(norm if position == "pre" else _identity, norm if position == "post" else _identity)


@dataclass(frozen=True)
class PackedLayer:
    """A layer's weights, transposed, (in, out)."""

    self_input: Tensor  # queries, keys and values side by side
    self_input_bias: Tensor | None
    self_output: Tensor
    self_output_bias: Tensor | None
    cross_query: Tensor
    cross_query_bias: Tensor | None
    cross_output: Tensor
    cross_output_bias: Tensor | None
    inner: Tensor
    inner_bias: Tensor
    outer: Tensor
    outer_bias: Tensor
    activation: Change
    norms: tuple[Norms, Norms, Norms]  # self-attention, cross-attention, feed-forward

    @classmethod
    def of(cls, layer: DecoderLayer) -> Self:
        own, cross, forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        assert isinstance(cross, MultiHeadAttention) and layer.cross_residual is not None
        return cls(
            transposed(torch.cat((own.query_proj.weight, own.key_proj.weight, own.value_proj.weight))),
            joined_bias(own.query_proj, own.key_proj, own.value_proj),
            transposed(own.output_proj.weight),
            own.output_proj.bias,
            transposed(cross.query_proj.weight),
            cross.query_proj.bias,
            transposed(cross.output_proj.weight),
            cross.output_proj.bias,
            transposed(forward.inner_proj.weight),
            forward.inner_proj.bias,
            transposed(forward.output_proj.weight),
            forward.output_proj.bias,
            forward.activation,
            (Norms.of(layer.self_residual), Norms.of(layer.cross_residual), Norms.of(layer.ffn_residual)),
        )


class IncrementalTransformer(IncrementalModel):
    shares_memory = True

    @classmethod
    def of(cls, model: Seq2Seq) -> Self | None:
        """None for other decoders, and for layers without residual connections or projections."""
        decoder = model.decoder
        if not isinstance(decoder, TransformerDecoder):
            return None
        usual = (layer.self_residual.connected and layer.self_attention.projected for layer in decoder.layers)
        return cls(model, decoder) if all(usual) else None

    @torch.no_grad()
    def __init__(self, model: Seq2Seq, decoder: TransformerDecoder) -> None:
        super().__init__(model)
        self.encoder, self.embedding, self.position_embedding = model.encoder, decoder.embedding, decoder.positions
        self._output = PackedOutput.of(decoder.output)
        own = next(iter(decoder.layers)).self_attention
        cross = [layer.cross_attention for layer in decoder.layers if layer.cross_attention is not None]
        self.heads, self.positions = own.heads, own.positions
        self.layers = [PackedLayer.of(layer) for layer in decoder.layers]
        self.source_proj = torch.cat(
            [proj.weight for attention in cross for proj in (attention.key_proj, attention.value_proj)]
        )
        self.source_bias = joined_bias(*(proj for each in cross for proj in (each.key_proj, each.value_proj)))
        self.last_norm = norm_function(decoder.norm)
        self.rotations = None
        if self.positions == "rotary":
            positions = torch.arange(ROTATIONS, device=decoder.output.weight.device)
            self.rotations = rotations(positions, own.head_width)

    @property
    def output(self) -> OutputLayer:
        return self._output

    def encode(self, source: Tensor, mask: Tensor) -> SourceCache:
        return self.prepare(self.encoder(source, mask))

    def prepare(self, memory: Memory) -> SourceCache:
        """The keys and values of all layers."""
        mask = memory.mask  # of images it is not that of the source
        (batch, length), layers = mask.shape, len(self.layers)
        keys_values = F.linear(memory.states, self.source_proj, self.source_bias).view(
            batch, length, layers, 2 * self.heads, -1
        )
        padding = None
        if not bool(mask.all()):
            padding = key_mask(torch.zeros_like(mask, dtype=keys_values.dtype).masked_fill_(~mask, -torch.inf))
        return SourceCache(keys_values.permute(0, 2, 3, 1, 4), padding)

    def start(self, memory: Record) -> TargetCache:
        assert isinstance(memory, SourceCache)
        assert not torch.is_grad_enabled(), "steps write into the cache"
        batch, layers, count, _, width = memory.keys_values.shape
        return TargetCache(memory.keys_values.new_empty(batch, layers, count, ROOM, width), 0)

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, TargetCache]:
        assert isinstance(memory, SourceCache) and isinstance(state, TargetCache)
        before, after = state.length, state.length + tokens.shape[1]
        past = with_room(state.keys_values, before, after)
        rotated, bias = self._rotations(before, after, past), self._bias(before, after, past.device)
        states = self.position_embedding(self.embedding.plain(tokens), before).flatten(0, 1)  # (R·T, D)
        for index, layer in enumerate(self.layers):
            own, cross, forward = layer.norms
            product = _product(own.before(states), layer.self_input, layer.self_input_bias)
            context = self._self_attention(product, past[:, index, :, :after], before, rotated, bias)
            states = own.after(_added(states, context, layer.self_output, layer.self_output_bias))
            queries = _product(cross.before(states), layer.cross_query, layer.cross_query_bias)
            context = self._cross_attention(queries, memory.keys_values[:, index], memory.padding)
            states = cross.after(_added(states, context, layer.cross_output, layer.cross_output_bias))
            hidden = layer.activation(torch.addmm(layer.inner_bias, forward.before(states), layer.inner))
            states = forward.after(_added(states, hidden, layer.outer, layer.outer_bias))
        return self.last_norm(states).view(*tokens.shape, -1), TargetCache(past, after)

    def _self_attention(
        self, product: Tensor, room: Tensor, before: int, rotated: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """Queries, keys, values (R·T, 3·H·K) of new tokens → contexts (R·T, H·K); the new keys and values are written
        into the room (R, 2·H, S, K)."""
        count, (rows, _, total, width) = self.heads, room.shape
        heads = product.view(rows, total - before, 3 * count, width)
        if rotated is not None:
            torch.view_as_complex(heads[:, :, : 2 * count].unflatten(3, (-1, 2))).mul_(rotated)
        heads = heads.transpose(1, 2)  # (R, 3·H, T, K)
        room[:, :, before:] = heads[:, count:]
        context = F.scaled_dot_product_attention(heads[:, :count], room[:, :count], room[:, count:], bias)
        return context.transpose(1, 2).reshape(len(product), -1)

    def _cross_attention(self, product: Tensor, memory: Tensor, padding: Tensor | None) -> Tensor:
        """Queries (R·T, H·K), keys and values (B, 2·H, S, K) → contexts. The queries of hypotheses that share a row of
        the memory are those of one row."""
        count = self.heads
        queries = product.view(memory.shape[0], -1, count, memory.shape[-1]).transpose(1, 2)
        context = F.scaled_dot_product_attention(queries, memory[:, :count], memory[:, count:], padding)
        return context.transpose(1, 2).reshape(product.shape)

    def _rotations(self, before: int, after: int, past: Tensor) -> Tensor | None:
        """Of new tokens: (T, 1, K/2)."""
        if self.rotations is None:
            return None
        rotated = self.rotations[before:after]
        if len(rotated) < after - before:
            rotated = rotations(torch.arange(before, after, device=past.device), past.shape[-1])
        return rotated[:, None]

    def _bias(self, before: int, after: int, device: torch.device) -> Tensor | None:
        """What is added to the scores of new tokens (T, S): ALiBi, and -inf for later positions."""
        alone = after - before == 1
        if alone and self.positions != "alibi":
            return None
        positions = torch.arange(after, device=device)
        slopes = alibi(self.heads, positions[before:], positions) if self.positions == "alibi" else None
        if alone:
            return slopes
        mask = causal_mask(after - before, after, device)
        return (torch.zeros(mask.shape, device=device) if slopes is None else slopes).masked_fill(~mask, -torch.inf)


def with_room(past: Tensor, before: int, after: int) -> Tensor:
    """The cache, or a copy of its first `before` tokens with at least twice the room."""
    if after <= past.shape[3]:
        return past
    larger = past.new_empty(*past.shape[:3], 2 ** (after - 1).bit_length(), past.shape[4])
    larger[:, :, :, :before] = past[:, :, :, :before]
    return larger


def norm_function(norm: nn.Module) -> Change:
    """What a norm does, without the call of a module around it."""
    if not isinstance(norm, nn.LayerNorm):
        return _identity
    shape, weight, bias, eps = norm.weight.shape, norm.weight, norm.bias, norm.eps
    return lambda states: torch.layer_norm(states, shape, weight, bias, eps)


def joined_bias(*projections: nn.Linear) -> Tensor | None:
    """The biases of several projections side by side, or None where they have none."""
    biases: list[Tensor] = [projection.bias for projection in projections if projection.bias is not None]
    return torch.cat(biases) if biases else None


def _product(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.mm(inputs, weight) if bias is None else torch.addmm(bias, inputs, weight)


def _added(states: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The residual path with a product joined to it."""
    states = torch.addmm(states, inputs, weight)
    return states if bias is None else states.add_(bias)


def _identity(states: Tensor) -> Tensor:
    return states
