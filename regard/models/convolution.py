"""Convolutional encoder and decoder (Gehring 2017): layers see neighbours, depth widens the view, attention joins both.

    encoder layer   x = x + GLU(conv(x)), centred
    decoder layer   x = x + GLU(conv(x)), causal;  x = x + CrossAttention(x, memory)

It differs from the paper in one point: the residual path is normed as in the Transformer, which spares its careful
scaling of weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.models.seq2seq import AttentionMemory, Decoder, Encoder, Memory, State, masked_mean
from regard.models.transformer import LayerShape
from regard.nn.convolution import GatedConvolution
from regard.nn.embedding import Embedding, Output
from regard.nn.layers import Layers
from regard.nn.masks import key_mask
from regard.nn.positions import PositionalEmbedding
from regard.nn.taps import Tap


class CentredLayer(nn.Module):
    """A convolution over the neighbours on both sides."""

    def __init__(self, shape: LayerShape, kernel: int) -> None:
        super().__init__()
        self.convolution = GatedConvolution(shape.width, kernel, causal=False)
        self.residual = shape.residual()
        self.states = Tap()

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """(B, S, D), real (B, S, 1) → (B, S, D)."""
        inputs = self.residual.before(states) * real  # padding must read as the zeros beyond the edge
        return self.states(self.residual.after(states, self.convolution(inputs)))


class ConvolutionEncoder(Encoder):
    def __init__(
        self, embedding: Embedding, positions: PositionalEmbedding, shape: LayerShape, kernel: int, depth: int
    ) -> None:
        super().__init__()
        self.width = shape.width
        self.embedding = embedding
        self.positions = positions
        self.layers = Layers[CentredLayer](CentredLayer(shape, kernel) for _ in range(depth))
        self.norm = shape.last_norm()

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        states = self.positions(self.embedding(source))
        for layer in self.layers:
            states = layer(states, mask.unsqueeze(-1))
        states = self.norm(states)
        return Memory(states, mask, masked_mean(states, mask))


class CausalLayer(nn.Module):
    """A causal convolution, then attention to the memory."""

    def __init__(self, shape: LayerShape, kernel: int, memory_width: int) -> None:
        super().__init__()
        self.convolution = GatedConvolution(shape.width, kernel, causal=True)
        self.residual = shape.residual()
        self.cross_attention = shape.attention(memory_width)
        self.cross_residual = shape.residual()
        self.states = Tap()

    def forward(self, states: Tensor, before: Tensor, keys: Tensor, values: Tensor, mask: Tensor):
        """(B, T, D) after the inputs `before` → (B, T, D) and the inputs that the next step needs."""
        inputs = self.residual.before(states)
        states = self.residual.after(states, self.convolution(inputs, before))
        context = self.cross_attention(self.cross_residual.before(states), keys, values, mask)
        states = self.cross_residual.after(states, context)
        inputs = torch.cat((before, inputs), dim=1)
        return self.states(states), inputs[:, inputs.shape[1] - self.convolution.past :]


@dataclass(frozen=True)
class ConvolutionState(State):
    before: tuple[Tensor, ...]  # each layer's last kernel-1 inputs (B, kernel-1, D)
    steps: int


class ConvolutionDecoder(Decoder[ConvolutionState]):
    def __init__(
        self,
        embedding: Embedding,
        positions: PositionalEmbedding,
        shape: LayerShape,
        kernel: int,
        depth: int,
        memory_width: int,
        output: Output,
    ) -> None:
        super().__init__()
        self.width = shape.width
        self.embedding = embedding
        self.positions = positions
        self.layers = Layers[CausalLayer](CausalLayer(shape, kernel, memory_width) for _ in range(depth))
        self.norm = shape.last_norm()
        self.output = output

    def prepare(self, memory: Memory) -> AttentionMemory:
        return AttentionMemory.of(memory, [layer.cross_attention for layer in self.layers])

    def start(self, memory: Memory) -> ConvolutionState:
        before = tuple(
            memory.states.new_zeros(memory.states.shape[0], layer.convolution.past, self.width) for layer in self.layers
        )
        return ConvolutionState(before, 0)

    def advance(self, tokens: Tensor, memory: Memory, state: ConvolutionState) -> tuple[Tensor, ConvolutionState]:
        assert isinstance(memory, AttentionMemory)
        states = self.positions(self.embedding(tokens), state.steps)
        mask, after = key_mask(memory.mask), []
        for layer, before, keys, values in zip(self.layers, state.before, memory.keys, memory.values, strict=True):
            states, last = layer(states, before, keys, values, mask)
            after.append(last)
        return self.norm(states), ConvolutionState(tuple(after), state.steps + tokens.shape[1])
