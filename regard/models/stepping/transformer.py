"""A Transformer's decoder, made ready to write token by token.

Queries, keys and values of a layer are one product; the memory's keys and values of all layers are one product, made
once, and a Past keeps them with those of the tokens so far. What joins the residual path is added by the product that
makes it. In a layer no module is called: for a row or a few, that would take as long as what the module does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.seq2seq import Decoder, Memory
from regard.models.stepping.past import Cache, Past
from regard.models.stepping.places import compiled_for
from regard.models.transformer import DecoderLayer, TransformerDecoder, TransformerState
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import Residual
from regard.nn.masks import causal_mask
from regard.nn.positions import alibi, turns
from regard.nn.products import transposed
from regard.nn.taps import watched

TURNED = 256  # positions whose turns are made ready

Change = Callable[[Tensor], Tensor]


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


class SteppingTransformer(Decoder[Past | TransformerState]):
    """Where somebody watches or asks for gradients, the decoder it was made of."""

    @torch.no_grad()
    def __init__(self, decoder: TransformerDecoder) -> None:
        super().__init__()
        self.decoder, self.output, self.compiled = decoder, decoder.output, False
        own = next(iter(decoder.layers)).self_attention
        across = [layer.cross_attention for layer in decoder.layers if layer.cross_attention is not None]
        self.heads, self.positions = own.heads, own.positions
        self.layers = [ReadyLayer.of(layer) for layer in decoder.layers]
        self.across = torch.cat([side.weight for one in across for side in (one.key_proj, one.value_proj)])
        self.last = norming(decoder.norm)
        places = torch.arange(TURNED, device=own.key_proj.weight.device)
        self.turns = turns(places, own.key_proj.out_features // self.heads) if self.positions == "rotary" else None

    def start(self, memory: Memory) -> Past | TransformerState:
        if watched() or torch.is_grad_enabled():
            return self.decoder.start(memory)
        each = F.linear(memory.states, self.across).unflatten(2, (len(self.layers), 2, -1))
        if not self.compiled or self.positions == "alibi" or not compiled_for(each):
            return Cache.begun(each, memory.mask, self.heads)
        from regard.models.stepping.slots import Slots

        return Slots.begun(each, memory.mask, self.heads)

    def advance(
        self, tokens: Tensor, memory: Memory, state: Past | TransformerState
    ) -> tuple[Tensor, Past | TransformerState]:
        if isinstance(state, TransformerState):
            return self.decoder.advance(tokens, memory, state)
        assert not watched(), "who watches, watches from the start"
        past, before = state.grown(tokens.shape[1]), state.length
        turned, bias = self._turned(before, past.length, tokens.device), self._bias(before, past.length, tokens.device)
        states = self.decoder.positions(self.decoder.embedding.plain(tokens), before).flatten(0, 1)  # (R·T, D)
        for index, layer in enumerate(self.layers):
            own, across, forward = layer.around
            product = torch.mm(own.before(states), layer.own)
            if turned is not None:
                self._turn(product.view(*tokens.shape, 3 * self.heads, -1), turned)
            states = own.after(torch.addmm(states, past.look_back(index, product, bias), layer.own_output))
            context = past.look_across(index, torch.mm(across.before(states), layer.query))
            states = across.after(torch.addmm(states, context, layer.across_output))
            hidden = layer.activation(torch.addmm(layer.inner_bias, forward.before(states), layer.inner))
            states = forward.after(torch.addmm(states, hidden, layer.outer).add_(layer.outer_bias))
        return self.last(states).view(*tokens.shape, -1), past

    def _turn(self, heads: Tensor, turned: Tensor) -> None:
        """Queries and keys of all heads (R, T, 3·H, K), in place."""
        torch.view_as_complex(heads[:, :, : 2 * self.heads].unflatten(3, (-1, 2))).mul_(turned)

    def _turned(self, before: int, after: int, device: torch.device) -> Tensor | None:
        """Of new tokens: (T, 1, K/2)."""
        if self.turns is None:
            return None
        ready = self.turns[before:after]
        if len(ready) < after - before:
            ready = turns(torch.arange(before, after, device=device), 2 * ready.shape[-1])
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


def norming(norm: nn.Module) -> Change:
    """What a norm does, without the call of a module around it."""
    if not isinstance(norm, nn.LayerNorm):
        return _as_it_is
    shape, weight, bias, eps = norm.weight.shape, norm.weight, norm.bias, norm.eps
    return lambda states: torch.layer_norm(states, shape, weight, bias, eps)


def _as_it_is(states: Tensor) -> Tensor:
    return states
