"""Every layer of regard.nn as a function of all its parameters and inputs, small and in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.attention import (
    Additive,
    Attention,
    Bilinear,
    Cosine,
    Dot,
    MultiHeadAttention,
    Projected,
    ScaledDot,
    ScoredAttention,
)
from regard.nn.blocks import FeedForward, Residual
from regard.nn.convolution import GatedConvolution
from regard.nn.copying import Pointer
from regard.nn.embedding import Embedding, Output
from regard.nn.grid import ResidualBlock
from regard.nn.masks import key_mask
from regard.nn.positions import PositionalEmbedding
from regard.nn.recurrent import Stack, make_cell
from regard.nn.taps import watching

B, T, S, Q, D = 2, 3, 4, 8, 5
IDS, LENGTHS = torch.tensor([[1, 5, 1], [0, 2, 3]]), torch.tensor([2, 3])
SOURCE = torch.tensor([[3, 6, 0, 0], [2, 3, 2, 4]])
REAL = key_mask(torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=torch.bool))


@dataclass(frozen=True)
class Brick:
    """`apply` of the inputs, with the parameters of `module`; both are leaves to be differentiated."""

    name: str
    module: nn.Module
    apply: Callable[..., Tensor | tuple[Tensor, ...]]
    inputs: tuple[Tensor, ...]

    @property
    def leaves(self) -> list[Tensor]:
        return [*self.module.parameters(), *self.inputs]

    def outputs(self) -> Tensor:
        """All outputs in one vector."""
        outputs = self.apply(*self.inputs)
        return torch.cat([output.flatten() for output in (outputs if isinstance(outputs, tuple) else (outputs,))])


def bricks(seed: int) -> list[Brick]:
    """All of them with random weights and inputs; biases and norms are random, too."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [*_attentions(), *_recurrences(), *_blocks(), *_ends()]


def _brick(name: str, module: nn.Module, apply: Callable[..., Any], *shapes: tuple[int, ...]) -> Brick:
    module.double()
    for parameter in module.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    inputs = tuple(torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    return Brick(name, module, apply, inputs)


def _attentions() -> Iterator[Brick]:
    scores = {
        "dot": (Dot(), Q),
        "scaled dot": (ScaledDot(), Q),
        "cosine": (Cosine(), Q),
        "bilinear": (Bilinear(Q, D), D),
        "projected": (Projected(Q, D), D),
        "additive": (Additive(Q, D), D),
    }
    for name, (score, width) in scores.items():
        attention = ScoredAttention(score, width, 0.0)
        yield _brick(f"attention {name}", attention, partial(_attend, attention), (B, T, Q), (B, S, width))
    kinds = (("", "split", None), ("full", "full", None), ("rotary", "split", "rotary"), ("ALiBi", "split", "alibi"))
    for name, layout, positions in kinds:
        attention = MultiHeadAttention(Q, D, 2, layout, 0.0, positions)
        yield _brick(
            f"multi-head attention {name}".strip(), attention, partial(_attend, attention), (B, T, Q), (B, S, D)
        )
    attention = MultiHeadAttention(Q, D, 2, "split", 0.0)
    yield _brick("multi-head attention open", attention, partial(_attend_openly, attention), (B, T, Q), (B, S, D))
    attention = MultiHeadAttention(Q, Q, 2, "split", 0.0)
    yield _brick("multi-head attention causal", attention, partial(_attend_causally, attention), (B, T, Q))


def _attend(attention: Attention, query: Tensor, states: Tensor) -> Tensor:
    return attention(query, *attention.prepare(states), REAL)


def _attend_openly(attention: Attention, query: Tensor, states: Tensor) -> Tensor:
    with watching(attention, record=False):
        return _attend(attention, query, states)


def _attend_causally(attention: MultiHeadAttention, states: Tensor) -> Tensor:
    return attention(states, *attention.prepare(states), None, causal=True)


def _recurrences() -> Iterator[Brick]:
    for kind in ("rnn", "lstm", "gru"):
        cell = make_cell(kind, D, Q)

        def step(x: Tensor, *state: Tensor, cell=cell) -> tuple[Tensor, ...]:
            return cell.step(cell.input_proj(x), state)

        yield _brick(f"{kind} cell", cell, step, (B, D), *[(B, Q)] * cell.memories)
        stack = Stack(kind, D, Q, 2, 0.0)

        def encode(x: Tensor, stack=stack) -> tuple[Tensor, ...]:
            hidden, after = stack(x, stack.start(x), LENGTHS)
            return hidden, *(piece for layer in after for piece in layer)

        yield _brick(f"{kind} stack", stack, encode, (B, T, D))


def _blocks() -> Iterator[Brick]:
    for name, causal in (("causal", True), ("centred", False)):
        convolution = GatedConvolution(Q, 3, causal)
        yield _brick(f"convolution {name}", convolution, convolution, (B, S, Q))
    for norm, activation in (("pre", "gelu"), ("post", "relu"), ("none", "tanh")):
        residual, inner = Residual(Q, norm, 0.0), FeedForward(Q, 7, activation, 0.0)

        def join(x: Tensor, residual=residual, inner=inner) -> Tensor:
            return residual.after(x, inner(residual.before(x)))

        both = nn.ModuleList((residual, inner))
        yield _brick(f"residual {norm}, feed-forward {activation}", both, join, (B, T, Q))
    for name, block in (("", ResidualBlock(3, 3)), (" halved", ResidualBlock(3, 4, halved=True))):
        yield _brick(f"residual block of a grid{name}", block, block, (B, 3, 4, 4))
    yield _brick("dropout", nn.Identity(), _drop, (B, T, Q))


def _drop(values: Tensor) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # the same mask each time
        return F.dropout(values.tanh(), 0.3)


def _ends() -> Iterator[Brick]:
    embedding, output = Embedding(6, Q, 0.0), Output(Q, 7)
    yield _brick("embedding", embedding, lambda: embedding(IDS))
    yield _brick("output", output, output, (B, T, Q))
    pointer = Pointer(D, Output(Q, 7))

    def copy(features: Tensor, states: Tensor) -> Tensor:
        mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
        return pointer.output(pointer(features, states, mask, SOURCE))

    yield _brick("pointer", pointer, copy, (B, T, Q), (B, S, D))
    for kind, combine in (
        ("learned", "add"), ("learned", "multiply"), ("learned", "concatenate"), ("sinusoidal", "multiply"),
    ):  # fmt: skip
        positions = PositionalEmbedding(kind, combine, Q, 8)
        yield _brick(f"positions {kind}, {combine}", positions, positions, (B, T, Q))
