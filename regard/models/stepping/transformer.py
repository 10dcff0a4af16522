"""A Transformer's decoder, made ready to write token by token.

Queries, keys and values of a layer are one product; the memory's keys and values of all layers are one product, made
once; those of the tokens so far stand in one tensor with room for more, so that beams change places in one move.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.seq2seq import OF_SOURCE, Decoder, Memory, State
from regard.models.transformer import DecoderLayer, TransformerDecoder, TransformerState
from regard.nn.attention import MultiHeadAttention
from regard.nn.masks import causal_mask, key_mask
from regard.nn.positions import alibi, turns
from regard.nn.taps import watched

ROOM = 16  # tokens that are written before the first move into a larger room


@dataclass(frozen=True)
class Cache(State):
    """Keys and values side by side. It is gone on from once: what comes next is written into its room."""

    past: Tensor  # (R, L, 2·H, room, K), of the tokens so far
    length: int
    memory: Tensor = field(metadata=OF_SOURCE)  # (B, L, 2·H, S, K)
    absent: Tensor | None = field(metadata=OF_SOURCE)  # (B, 1, 1, S): nought, or -inf where there is padding


class SteppingTransformer(Decoder[Cache | TransformerState]):
    """Where somebody watches or asks for gradients, the decoder it was made of."""

    @torch.no_grad()
    def __init__(self, decoder: TransformerDecoder) -> None:
        super().__init__()
        self.decoder, self.output = decoder, decoder.output
        own = [layer.self_attention for layer in decoder.layers]
        across = [layer.cross_attention for layer in decoder.layers if layer.cross_attention is not None]
        self.heads, self.positions = own[0].heads, own[0].positions
        self.own = [torch.cat((one.query_proj.weight, one.key_proj.weight, one.value_proj.weight)) for one in own]
        self.across = torch.cat([side.weight for one in across for side in (one.key_proj, one.value_proj)])

    def start(self, memory: Memory) -> Cache | TransformerState:
        if watched() or torch.is_grad_enabled():
            return self.decoder.start(memory)
        (batch, length), layers = memory.mask.shape, len(self.own)
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
        places = torch.arange(after, device=tokens.device)
        turned = turns(places[before:], past.shape[-1])[:, None] if self.positions == "rotary" else None
        bias = self._bias(places, before)
        states = self.decoder.positions(self.decoder.embedding(tokens), before)
        for index, layer in enumerate(self.decoder.layers):
            room = past[:, index, :, :after]
            inputs = layer.self_residual.before(states)
            context = self._look_back(F.linear(inputs, self.own[index]), room, before, turned, bias)
            states = layer.self_residual.after(states, layer.self_attention.output_proj(context))
            states = self._look_across(states, layer, state.memory[:, index], state.absent)
            states = layer.ffn_residual.after(states, layer.feed_forward(layer.ffn_residual.before(states)))
        return self.decoder.norm(states), Cache(past, after, state.memory, state.absent)

    def _look_back(
        self, product: Tensor, room: Tensor, before: int, turned: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """Queries, keys, values (R, T, 3·H·K) of new tokens → contexts (R, T, H·K); the room (R, 2·H, S, K) takes
        the new keys and values in."""
        heads = product.unflatten(2, (3 * self.heads, -1))  # (R, T, 3·H, K)
        if turned is not None:
            torch.view_as_complex(heads[:, :, : 2 * self.heads].unflatten(3, (-1, 2))).mul_(turned)
        queries, new = heads.transpose(1, 2).split([self.heads, 2 * self.heads], dim=1)
        room[:, :, before:] = new
        keys, values = room.split(self.heads, dim=1)
        context = F.scaled_dot_product_attention(queries, keys, values, bias)
        return context.transpose(1, 2).flatten(2)

    def _look_across(self, states: Tensor, layer: DecoderLayer, memory: Tensor, absent: Tensor | None) -> Tensor:
        """Rows that stand together share a memory: their queries are asked as if they were one row's."""
        residual, attention = layer.cross_residual, layer.cross_attention
        assert residual is not None and isinstance(attention, MultiHeadAttention)
        asked = attention.query_proj(residual.before(states))  # (R, T, H·K)
        queries = asked.view(memory.shape[0], -1, self.heads, memory.shape[-1]).transpose(1, 2)
        keys, values = memory.split(self.heads, dim=1)
        context = F.scaled_dot_product_attention(queries, keys, values, absent)
        return residual.after(states, attention.output_proj(context.transpose(1, 2).reshape(asked.shape)))

    def _bias(self, places: Tensor, before: int) -> Tensor | None:
        """What is added to the scores of new tokens: slopes, and nothing of what comes later (T, S)."""
        slopes = alibi(self.heads, places[before:], places) if self.positions == "alibi" else None
        if len(places) - before == 1:
            return slopes
        causes = causal_mask(len(places) - before, len(places), places.device)
        return (torch.zeros(causes.shape, device=places.device) if slopes is None else slopes).masked_fill(
            ~causes, -torch.inf
        )


def with_room(past: Tensor, before: int, after: int) -> Tensor:
    """The same, or the first `before` of it in twice the room or more."""
    if after <= past.shape[3]:
        return past
    larger = past.new_empty(*past.shape[:3], 2 ** (after - 1).bit_length(), past.shape[4])
    larger[:, :, :, :before] = past[:, :, :, :before]
    return larger
