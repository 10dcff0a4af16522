"""The Transformer (Vaswani 2017): nothing but attention, point-wise layers, residuals, norms and positions.

encoder layer   x = x + SelfAttention(x);  x = x + FeedForward(x)
decoder layer   x = x + MaskedSelfAttention(x);  x = x + CrossAttention(x, memory);  x = x + FeedForward(x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from regard.models.seq2seq import AttentionMemory, Decoder, Encoder, Memory, State, masked_mean
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import FeedForward, Residual
from regard.nn.embedding import Embedding, Output
from regard.nn.layers import Layers
from regard.nn.masks import key_mask
from regard.nn.positions import PositionalEmbedding
from regard.nn.taps import Tap

Norm = Literal["pre", "post", "none"]


@dataclass(frozen=True)
class LayerShape:
    """What the layers of one side have in common."""

    width: int
    heads: int
    head_layout: Literal["split", "full"]
    ffn_width: int
    norm: Norm
    activation: str
    dropout: float
    attention_dropout: float
    ffn_dropout: float
    positions: Literal["rotary", "alibi"] | None  # those that act inside self-attention
    attention_bias: bool = False
    residuals: bool = True
    projected: bool = True  # self-attention has projections of its own

    def attention(self, memory_width: int | None = None) -> MultiHeadAttention:
        own = memory_width is None
        return MultiHeadAttention(
            self.width,
            memory_width or self.width,
            self.heads,
            self.head_layout,
            self.attention_dropout,
            self.positions if own else None,
            self.projected or not own,
            self.attention_bias,
        )

    def residual(self) -> Residual:
        return Residual(self.width, self.norm, self.dropout, self.residuals)

    def feed_forward(self) -> FeedForward:
        return FeedForward(self.width, self.ffn_width, self.activation, self.ffn_dropout)

    def last_norm(self) -> nn.Module:
        """Pre-norm leaves the residual path unnormed: one more norm stands at its end."""
        return nn.LayerNorm(self.width) if self.norm == "pre" else nn.Identity()


class EncoderLayer(nn.Module):
    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.self_attention = shape.attention()
        self.self_residual = shape.residual()
        self.feed_forward = shape.feed_forward()
        self.ffn_residual = shape.residual()
        self.states = Tap()

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D), mask (B, 1, 1, S) → (B, S, D)."""
        inputs = self.self_residual.before(states)
        keys, values = self.self_attention.prepare(inputs)
        states = self.self_residual.after(states, self.self_attention(inputs, keys, values, mask))
        states = self.ffn_residual.after(states, self.feed_forward(self.ffn_residual.before(states)))
        return self.states(states)


class TransformerEncoder(Encoder):
    """Without positions it is a function of the set of tokens: permuting the source permutes the memory.

    With no layer the memory is the word vectors themselves.
    """

    def __init__(self, embedding: Embedding, positions: PositionalEmbedding, shape: LayerShape, depth: int) -> None:
        super().__init__()
        self.width = shape.width
        self.embedding = embedding
        self.positions = positions
        self.layers = Layers[EncoderLayer](EncoderLayer(shape) for _ in range(depth))
        self.norm = shape.last_norm() if depth else nn.Identity()

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        states = self.positions(self.embedding(source))
        source_mask = key_mask(mask)
        for layer in self.layers:
            states = layer(states, source_mask)
        states = self.norm(states)
        return Memory(states, mask, masked_mean(states, mask))


@dataclass(frozen=True)
class LayerState(State):
    """The keys and values of the tokens so far: (B, H, T, K)."""

    keys: Tensor
    values: Tensor


@dataclass(frozen=True)
class SourceKeys:
    """What a layer's cross-attention needs of the memory: (B, H, S, K) twice, (B, 1, 1, S)."""

    keys: Tensor
    values: Tensor
    mask: Tensor


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention (not in a language model), feed-forward."""

    def __init__(self, shape: LayerShape, memory_width: int | None) -> None:
        super().__init__()
        self.self_attention = shape.attention()
        self.self_residual = shape.residual()
        self.cross_attention = shape.attention(memory_width) if memory_width else None
        self.cross_residual = shape.residual() if memory_width else None
        self.feed_forward = shape.feed_forward()
        self.ffn_residual = shape.residual()
        self.states = Tap()

    def start(self, batch: int) -> LayerState:
        """The state before the first token."""
        heads, head_width = self.self_attention.heads, self.self_attention.head_width
        empty = self.feed_forward.inner_proj.weight.new_zeros(batch, heads, 0, head_width)
        return LayerState(empty, empty)

    def forward(
        self, states: Tensor, past: LayerState, source: SourceKeys | None, mask: Tensor | None = None
    ) -> tuple[Tensor, LayerState]:
        """States (B, T, D) of new tokens after `past`; mask (B, 1, 1 or T, past + T) narrows what causality allows."""
        inputs = self.self_residual.before(states)
        keys, values = self.self_attention.prepare(inputs, past.keys.shape[2])
        keys, values = torch.cat((past.keys, keys), dim=2), torch.cat((past.values, values), dim=2)
        states = self.self_residual.after(states, self.self_attention(inputs, keys, values, mask, causal=True))
        if self.cross_attention is not None and self.cross_residual is not None:
            assert source is not None
            inputs = self.cross_residual.before(states)
            context = self.cross_attention(inputs, source.keys, source.values, source.mask)
            states = self.cross_residual.after(states, context)
        states = self.ffn_residual.after(states, self.feed_forward(self.ffn_residual.before(states)))
        return self.states(states), LayerState(keys, values)


@dataclass(frozen=True)
class TransformerState(State):
    layers: tuple[LayerState, ...]

    @property
    def length(self) -> int:
        return self.layers[0].keys.shape[2]


class TransformerDecoder(Decoder[TransformerState]):
    def __init__(
        self,
        embedding: Embedding,
        positions: PositionalEmbedding,
        shape: LayerShape,
        depth: int,
        memory_width: int,
        output: Output,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.layers = Layers[DecoderLayer](DecoderLayer(shape, memory_width) for _ in range(depth))
        self.norm = shape.last_norm()
        self.output = output

    def prepare(self, memory: Memory) -> AttentionMemory:
        attentions = [layer.cross_attention for layer in self.layers if layer.cross_attention is not None]
        return AttentionMemory.of(memory, attentions)

    def start(self, memory: Memory) -> TransformerState:
        return TransformerState(tuple(layer.start(memory.mask.shape[0]) for layer in self.layers))

    def advance(self, tokens: Tensor, memory: Memory, state: TransformerState) -> tuple[Tensor, TransformerState]:
        assert isinstance(memory, AttentionMemory)
        states = self.positions(self.embedding(tokens), state.length)
        mask, after = key_mask(memory.mask), []
        for layer, past, keys, values in zip(self.layers, state.layers, memory.keys, memory.values, strict=True):
            states, new = layer(states, past, SourceKeys(keys, values, mask))
            after.append(new)
        return self.norm(states), TransformerState(tuple(after))
