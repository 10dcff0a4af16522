"""Finite differences against backward, in float64, for inputs and every parameter of every brick."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError, gradcheck
from torch.func import functional_call

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
from regard.nn.embedding import Embedding, Output
from regard.nn.masks import key_mask
from regard.nn.positions import PositionalEmbedding
from regard.nn.recurrent import Stack, make_cell
from regard.nn.taps import watching

B, T, S, Q, D = 2, 3, 4, 4, 5
SHORT, NARROW = 2, 3  # where there are many parameters


def gradients_hold(module: nn.Module, *inputs: Tensor) -> bool:
    """Whether d output / d (floating inputs and all parameters) agrees with finite differences."""
    module = module.double()
    names, values = zip(*module.named_parameters(), strict=True) if list(module.parameters()) else ((), ())
    assert all(value.requires_grad for value in values)

    def outputs(*everything: Tensor) -> Tensor | tuple[Tensor, ...]:
        parameters = dict(zip(names, everything, strict=False))
        return functional_call(module, parameters, everything[len(names) :])

    leaves = [x.double().requires_grad_() if x.is_floating_point() else x for x in inputs]
    parameters = [value.detach().requires_grad_() for value in values]
    return gradcheck(outputs, (*parameters, *leaves), check_undefined_grad=False)


class Ask(nn.Module):
    """Prepare and ask as one function of states and queries."""

    def __init__(self, attention: Attention, mask: Tensor | None, opened: bool) -> None:
        super().__init__()
        self.attention, self.mask, self.opened = attention, mask, opened

    def forward(self, query: Tensor, states: Tensor) -> Tensor:
        if not self.opened:
            return self.attention(query, *self.attention.prepare(states), self.mask)
        with watching(self):
            return self.attention(query, *self.attention.prepare(states), self.mask)


MASK = key_mask(torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=torch.bool))
SCORES = {
    "dot": (Dot, Q),
    "scaled-dot": (ScaledDot, Q),
    "cosine": (Cosine, Q),
    "bilinear": (lambda: Bilinear(Q, D), D),
    "projected": (lambda: Projected(Q, D), D),
    "additive": (lambda: Additive(Q, D), D),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", SCORES)
def test_scored_attention(kind: str, masked: bool) -> None:
    torch.manual_seed(0)
    make, width = SCORES[kind]
    ask = Ask(ScoredAttention(make(), width, 0.0), MASK if masked else None, opened=False)
    assert gradients_hold(ask, torch.randn(B, T, Q), torch.randn(B, S, width))


@pytest.mark.parametrize("layout", ["split", "full"])
@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
@pytest.mark.parametrize(("masked", "opened"), [(False, False), (True, False), (True, True)])
def test_multi_head_attention(layout: str, positions: str | None, masked: bool, opened: bool) -> None:
    torch.manual_seed(1)
    attention = MultiHeadAttention(Q, NARROW, 2, layout, 0.0, positions, bias=opened)
    ask = Ask(attention, MASK if masked else None, opened)
    assert gradients_hold(ask, torch.randn(B, SHORT, Q), torch.randn(B, S, NARROW))


@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
def test_causal_attention(positions: str | None) -> None:
    torch.manual_seed(2)

    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = MultiHeadAttention(4, 4, 2, "split", 0.0, positions)

        def forward(self, x: Tensor) -> Tensor:
            return self.attention(x, *self.attention.prepare(x), None, causal=True)

    assert gradients_hold(Causal(), torch.randn(B, T, 4))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_cells(kind: str) -> None:
    torch.manual_seed(3)

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = make_cell(kind, D, 3)

        def forward(self, x: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
            return self.cell.step(self.cell.input_proj(x), state)

    step = Step()
    assert gradients_hold(step, torch.randn(B, D), *(torch.randn(B, 3) for _ in range(step.cell.memories)))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_stacks_over_padded_batches(kind: str) -> None:
    torch.manual_seed(4)

    class Read(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack = Stack(kind, 3, 2, 2, 0.0)

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            outputs, after = self.stack(x, self.stack.start(x), torch.tensor([2, 3]))
            return outputs, *(piece for layer in after for piece in layer)

    assert gradients_hold(Read(), torch.randn(B, T, 3))


@pytest.mark.parametrize("kernel", [2, 3])
@pytest.mark.parametrize("causal", [False, True])
def test_convolution(kernel: int, causal: bool) -> None:
    torch.manual_seed(5)
    assert gradients_hold(GatedConvolution(4, kernel, causal), torch.randn(B, S, 4))
    if causal:
        assert gradients_hold(GatedConvolution(4, kernel, causal), torch.randn(B, S, 4), torch.randn(B, kernel - 1, 4))


@pytest.mark.parametrize("place", ["pre", "post", "none"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "tanh"])
def test_residual_around_feed_forward(place: str, activation: str) -> None:
    torch.manual_seed(6)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.residual, self.inner = Residual(4, place, 0.0), FeedForward(4, 6, activation, 0.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.residual.after(x, self.inner(self.residual.before(x)))

    assert gradients_hold(Block(), torch.randn(B, T, 4))


def test_embedding_and_output() -> None:
    torch.manual_seed(7)

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = Embedding(6, 4, 0.0)
            self.output = Output(4, 6, self.embedding)

        def forward(self, ids: Tensor) -> Tensor:
            return self.output(self.embedding(ids).tanh())

    assert gradients_hold(Embedding(6, 4, 0.0), torch.tensor([[1, 5, 1], [0, 2, 3]]))
    assert gradients_hold(Embedding(6, 4, 0.0, zero=1), torch.tensor([[1, 5, 1], [0, 2, 3]]))
    assert gradients_hold(Output(4, 6), torch.randn(B, T, 4))
    assert gradients_hold(Tied(), torch.tensor([[1, 5, 1], [0, 2, 3]]))


@pytest.mark.parametrize("kind", ["none", "learned", "sinusoidal"])
@pytest.mark.parametrize("combine", ["add", "multiply", "concatenate"])
@pytest.mark.parametrize("start", [None, [-1, 2]])
def test_positional_embedding(kind: str, combine: str, start: list[int] | None) -> None:
    torch.manual_seed(8)
    inputs = [torch.randn(B, T, 4)] if start is None else [torch.randn(B, T, 4), torch.tensor(start)]
    assert gradients_hold(PositionalEmbedding(kind, combine, 4, 7), *inputs)


def test_the_check_can_fail() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(context: object, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(context: object, gradient: Tensor) -> Tensor:
            return gradient

    class Module(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return Wrong.apply(x)

    with pytest.raises(GradcheckError):
        gradients_hold(Module(), torch.randn(2, 3))


@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_proportion(masked: bool) -> None:
    torch.manual_seed(6)
    ask = Ask(ScoredAttention(Bilinear(Q, D), D, 0.0, proportional=True), MASK if masked else None, opened=False)
    assert gradients_hold(ask, torch.randn(B, T, Q), torch.randn(B, S, D))


def test_attention_without_projections() -> None:
    torch.manual_seed(7)
    attention = MultiHeadAttention(4, 4, 2, "split", 0.0, projected=False)
    assert not list(attention.parameters())
    ask = Ask(attention, MASK, opened=False)
    assert gradients_hold(ask, torch.randn(B, SHORT, 4), torch.randn(B, S, 4))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_sublayers_without_residual_connections(norm: str) -> None:
    torch.manual_seed(8)

    class Sublayer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.residual, self.layer = Residual(D, norm, 0.0, connected=False), FeedForward(D, 3, "tanh", 0.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.residual.after(x, self.layer(self.residual.before(x)))

    assert gradients_hold(Sublayer(), torch.randn(B, T, D))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_a_learned_first_state(kind: str) -> None:
    torch.manual_seed(9)

    class FromLearned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack = Stack(kind, 3, 2, 2, 0.0, learned_start=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.stack(x, self.stack.start(x))[0]

    assert gradients_hold(FromLearned(), torch.randn(B, T, 3))
