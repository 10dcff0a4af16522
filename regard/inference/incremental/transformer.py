"""A Transformer's decoder, made ready to write token by token.

Queries, keys and values of a layer are one product; the memory's keys and values of all layers are one product, made
once; those of the tokens so far stand in one tensor with room for more, so that beams change places in one move. What
joins the residual path is added by the product that makes it. In a layer no module is called: for a row or a few, that
would take as long as what the module does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels.packed_linear import transposed
from regard.models.seq2seq import OF_SOURCE, Decoder, Memory, State
from regard.models.transformer import DecoderLayer, TransformerDecoder, TransformerState
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import Residual
from regard.nn.masks import causal_mask, key_mask
from regard.nn.positions import alibi, turns
from regard.nn.taps import watched

ROOM = 16  # tokens that are written before the first move into a larger room
TURNED = 256  # positions whose turns are made ready

Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cache(State):
    """Keys and values side by side. It is gone on from once: what comes next is written into its room."""

    past: Tensor  # (R, L, 2·H, room, K), of the tokens so far
    length: int
    memory: Tensor = field(metadata=OF_SOURCE)  # (B, L, 2·H, S, K)
    absent: Tensor | None = field(metadata=OF_SOURCE)  # (B, 1, 1, S): nought, or -inf where there is padding


@dataclass(frozen=True)
class Around:
    """What stands before and behind a sublayer, as its residual has it."""

    before: Change
    after: Change

    @classmethod
    def of(cls, residual: Residual) -> Self:
        norm = norming(residual.norm)
        return cls(norm if residual.place == "pre" else _as_it_is, norm if residual.place == "post" else _as_it_is)


@dataclass(frozen=True)
class ReadyLayer:
    """A layer's weights, each standing as a product from the left takes it, (in, out): half of the time for a row."""

    own: Tensor  # queries, keys and values side by side
    own_output: Tensor
    query: Tensor  # across
    across_output: Tensor
    inner: Tensor
    inner_bias: Tensor
    outer: Tensor
    outer_bias: Tensor
    activation: Change
    around: tuple[Around, Around, Around]  # self-attention, cross-attention, feed-forward

    @classmethod
    def of(cls, layer: DecoderLayer) -> Self:
        own, across, forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        assert isinstance(across, MultiHeadAttention) and layer.cross_residual is not None
        return cls(
            transposed(torch.cat((own.query_proj.weight, own.key_proj.weight, own.value_proj.weight))),
            transposed(own.output_proj.weight),
            transposed(across.query_proj.weight),
            transposed(across.output_proj.weight),
            transposed(forward.inner_proj.weight),
            forward.inner_proj.bias,
            transposed(forward.output_proj.weight),
            forward.output_proj.bias,
            forward.activation,
            (Around.of(layer.self_residual), Around.of(layer.cross_residual), Around.of(layer.ffn_residual)),
        )


class SteppingTransformer(Decoder[Cache | TransformerState]):
    """Where somebody watches or asks for gradients, the decoder it was made of."""

    @torch.no_grad()
    def __init__(self, decoder: TransformerDecoder) -> None:
        super().__init__()
        self.decoder, self.output = decoder, decoder.output
        own = next(iter(decoder.layers)).self_attention
        across = [layer.cross_attention for layer in decoder.layers if layer.cross_attention is not None]
        self.heads, self.positions = own.heads, own.positions
        self.layers = [ReadyLayer.of(layer) for layer in decoder.layers]
        self.across = torch.cat([side.weight for one in across for side in (one.key_proj, one.value_proj)])
        self.last = norming(decoder.norm)
        places = torch.arange(TURNED, device=own.key_proj.weight.device)
        self.turns = turns(places, own.key_proj.out_features // self.heads) if self.positions == "rotary" else None

    def start(self, memory: Memory) -> Cache | TransformerState:
        if watched() or torch.is_grad_enabled():
            return self.decoder.start(memory)
        (batch, length), layers = memory.mask.shape, len(self.layers)
        each = F.linear(memory.states, self.across).view(batch, length, layers, 2 * self.heads, -1)
        nothing = each.new_empty(batch, layers, 2 * self.heads, ROOM, each.shape[-1])
        absent = None
        if not bool(memory.mask.all()):
            absent = torch.zeros_like(memory.mask, dtype=each.dtype).masked_fill_(~memory.mask, -torch.inf)
        return Cache(nothing, 0, each.permute(0, 2, 3, 1, 4), None if absent is None else key_mask(absent))

    def advance(
        self, tokens: Tensor, memory: Memory, state: Cache | TransformerState
    ) -> tuple[Tensor, Cache | TransformerState]:
        if isinstance(state, TransformerState):
            return self.decoder.advance(tokens, memory, state)
        assert not watched(), "who watches, watches from the start"
        before, after = state.length, state.length + tokens.shape[1]
        past = with_room(state.past, before, after)
        turned, bias = self._turned(before, after, past), self._bias(before, after, past.device)
        states = self.decoder.positions(self.decoder.embedding.plain(tokens), before).flatten(0, 1)  # (R·T, D)
        for index, layer in enumerate(self.layers):
            own, across, forward = layer.around
            product = torch.mm(own.before(states), layer.own)
            context = self._look_back(product, past[:, index, :, :after], before, turned, bias)
            states = own.after(torch.addmm(states, context, layer.own_output))
            context = self._look_across(torch.mm(across.before(states), layer.query), state, index)
            states = across.after(torch.addmm(states, context, layer.across_output))
            hidden = layer.activation(torch.addmm(layer.inner_bias, forward.before(states), layer.inner))
            states = forward.after(torch.addmm(states, hidden, layer.outer).add_(layer.outer_bias))
        return self.last(states).view(*tokens.shape, -1), Cache(past, after, state.memory, state.absent)

    def _look_back(
        self, product: Tensor, room: Tensor, before: int, turned: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """Queries, keys, values (R·T, 3·H·K) of new tokens → contexts (R·T, H·K); the room (R, 2·H, S, K) takes
        the new keys and values in."""
        count, (rows, _, total, width) = self.heads, room.shape
        heads = product.view(rows, total - before, 3 * count, width)
        if turned is not None:
            torch.view_as_complex(heads[:, :, : 2 * count].unflatten(3, (-1, 2))).mul_(turned)
        heads = heads.transpose(1, 2)  # (R, 3·H, T, K)
        room[:, :, before:] = heads[:, count:]
        context = F.scaled_dot_product_attention(heads[:, :count], room[:, :count], room[:, count:], bias)
        return context.transpose(1, 2).reshape(len(product), -1)

    def _look_across(self, asked: Tensor, state: Cache, index: int) -> Tensor:
        """Queries (R·T, H·K) → contexts. Rows that stand together share a memory: theirs are asked as if they were one
        row's."""
        count, memory = self.heads, state.memory[:, index]
        queries = asked.view(memory.shape[0], -1, count, memory.shape[-1]).transpose(1, 2)
        context = F.scaled_dot_product_attention(queries, memory[:, :count], memory[:, count:], state.absent)
        return context.transpose(1, 2).reshape(asked.shape)

    def _turned(self, before: int, after: int, past: Tensor) -> Tensor | None:
        """Of new tokens: (T, 1, K/2)."""
        if self.turns is None:
            return None
        ready = self.turns[before:after]
        if len(ready) < after - before:
            ready = turns(torch.arange(before, after, device=past.device), past.shape[-1])
        return ready[:, None]

    def _bias(self, before: int, after: int, device: torch.device) -> Tensor | None:
        """What is added to the scores of new tokens: slopes, and nothing of what comes later (T, S)."""
        alone = after - before == 1
        if alone and self.positions != "alibi":
            return None
        places = torch.arange(after, device=device)
        slopes = alibi(self.heads, places[before:], places) if self.positions == "alibi" else None
        if alone:
            return slopes
        causes = causal_mask(after - before, after, device)
        return (torch.zeros(causes.shape, device=device) if slopes is None else slopes).masked_fill(~causes, -torch.inf)


def with_room(past: Tensor, before: int, after: int) -> Tensor:
    """The same, or the first `before` of it in twice the room or more."""
    if after <= past.shape[3]:
        return past
    larger = past.new_empty(*past.shape[:3], 2 ** (after - 1).bit_length(), past.shape[4])
    larger[:, :, :, :before] = past[:, :, :, :before]
    return larger


def norming(norm: nn.Module) -> Change:
    """What a norm does, without the call of a module around it."""
    if not isinstance(norm, nn.LayerNorm):
        return _as_it_is
    shape, weight, bias, eps = norm.weight.shape, norm.weight, norm.bias, norm.eps
    return lambda states: torch.layer_norm(states, shape, weight, bias, eps)


def _as_it_is(states: Tensor) -> Tensor:
    return states
