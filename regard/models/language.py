"""Decoder-only models: one network reads the source, then generates the target after the separator (the first token).

Their memory holds the state after the source: a recurrent state of constant size, or the keys and values of the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.models.seq2seq import LanguageMemory, Memory, Model, Reader, State, masked_mean
from regard.models.transformer import DecoderLayer, LayerShape, LayerState
from regard.nn.embedding import Embedding, Output
from regard.nn.layers import Layers
from regard.nn.masks import key_mask
from regard.nn.positions import PositionalEmbedding


class LanguageModel(Model):
    """A decoder that continues its source."""

    def __init__(self, decoder: Reader[Any], max_total: int | None) -> None:
        super().__init__()
        self.decoder = decoder
        self.max_total = max_total

    def encode(self, source: Tensor, mask: Tensor) -> LanguageMemory:
        return self.decoder.read(source, mask)

    def start(self, memory: Memory) -> State:
        assert isinstance(memory, LanguageMemory)
        return memory.state

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        return self.decoder.advance(tokens, state)

    @property
    def output_layer(self) -> Output:
        return self.decoder.output


@dataclass(frozen=True)
class LanguageState(State):
    layers: tuple[LayerState, ...]
    real: Tensor  # (B, past), False for padding on the left of a source
    absent: Tensor  # (B,), how much padding that is


class TransformerReader(Reader[LanguageState]):
    """Masked self-attention over source and target in one row. The source is shifted right, so that the target follows
    without a gap and distances are right for every kind of position."""

    def __init__(
        self, embedding: Embedding, positions: PositionalEmbedding, shape: LayerShape, depth: int, output: Output
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.layers = Layers[DecoderLayer](DecoderLayer(shape, None) for _ in range(depth))
        self.norm = shape.last_norm()
        self.output = output

    def read(self, source: Tensor, mask: Tensor) -> LanguageMemory:
        source, mask = shift_right(source, mask)
        layers = tuple(layer.start(source.shape[0]) for layer in self.layers)
        states, state = self._run(source, mask, LanguageState(layers, mask[:, :0], (~mask).sum(1)))
        return LanguageMemory(states, mask, masked_mean(states, mask), state)

    def advance(self, tokens: Tensor, state: LanguageState) -> tuple[Tensor, LanguageState]:
        return self._run(tokens, torch.ones_like(tokens, dtype=torch.bool), state)

    def _run(self, tokens: Tensor, real: Tensor, state: LanguageState) -> tuple[Tensor, LanguageState]:
        past = state.real.shape[1]
        states = self.positions(self.embedding(tokens), past - state.absent)
        real = torch.cat((state.real, real), dim=1)
        mask = None
        if not bool(real.all()):
            itself = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)[past:]
            mask = key_mask(real) | itself  # padding attends to itself, so that no row of the mask is empty
        after = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            states, new = layer(states, before, None, mask)
            after.append(new)
        return self.norm(states), LanguageState(tuple(after), real, state.absent)


def shift_right(source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Padding moves from the right end of each row to the left."""
    absent = (~mask).sum(1, keepdim=True)
    index = (torch.arange(source.shape[1], device=source.device)[None] - absent) % source.shape[1]
    return source.gather(1, index), mask.gather(1, index)
