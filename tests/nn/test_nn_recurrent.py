"""Recurrent stacks against torch.nn.RNN, LSTM and GRU with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.nn.recurrent import Stack, make_cell, reverse_sequence, state_at

TWINS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
B, T, D, W, DEPTH = 3, 6, 5, 4, 2


def twin(stack: Stack, kind: str) -> nn.RNNBase:
    theirs = TWINS[kind](D, W, DEPTH, batch_first=True)
    with torch.no_grad():
        for layer, cell in enumerate(stack.layers):
            getattr(theirs, f"weight_ih_l{layer}").copy_(cell.input_proj.weight)
            getattr(theirs, f"weight_hh_l{layer}").copy_(cell.state_proj.weight)
            getattr(theirs, f"bias_ih_l{layer}").copy_(cell.input_proj.bias)
            getattr(theirs, f"bias_hh_l{layer}").copy_(cell.state_proj.bias)
    return theirs


@pytest.mark.parametrize("kind", TWINS)
def test_a_stack_is_torchs_own_over_padded_batches(kind: str) -> None:
    torch.manual_seed(0)
    stack, x = Stack(kind, D, W, DEPTH, 0.0), torch.randn(B, T, D)
    theirs, lengths = twin(stack, kind), torch.tensor([4, 6, 1])
    start = tuple(torch.randn(DEPTH, B, W) for _ in range(stack.layers[0].memories))
    states = tuple(tuple(piece[layer] for piece in start) for layer in range(DEPTH))
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, ends = theirs(packed, start if kind == "lstm" else start[0])
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    outputs, after = stack(x, states, lengths)
    for row, length in enumerate(lengths.tolist()):
        assert torch.allclose(outputs[row, :length], expected[row, :length], atol=1e-5)
    ends = ends if kind == "lstm" else (ends,)
    for layer in range(DEPTH):
        for ours, theirs_end in zip(after[layer], ends, strict=True):
            assert torch.allclose(ours, theirs_end[layer], atol=1e-5)


@pytest.mark.parametrize("kind", TWINS)
def test_one_step_or_many(kind: str) -> None:
    torch.manual_seed(1)
    stack, x = Stack(kind, D, W, DEPTH, 0.0), torch.randn(B, T, D)
    whole, end = stack(x, stack.start(x))
    state = stack.start(x)
    for t in range(T):
        output, state = stack(x[:, t : t + 1], state)
        assert torch.allclose(output[:, 0], whole[:, t], atol=1e-6)
    for layer, pieces in enumerate(state):
        for ours, expected in zip(pieces, end[layer], strict=True):
            assert torch.allclose(ours, expected, atol=1e-6)


def test_the_zero_state() -> None:
    stack = Stack("lstm", D, W, DEPTH, 0.0)
    state = stack.start(torch.ones(B, T, D))
    assert [[tuple(piece.shape) for piece in layer] for layer in state] == [[(B, W)] * 2] * DEPTH
    assert all(piece.eq(0).all() for layer in state for piece in layer)


def test_dropout_stands_between_layers_in_training_only() -> None:
    torch.manual_seed(2)
    x = torch.randn(B, T, D)
    deep, shallow = Stack("gru", D, W, 2, 0.5), Stack("gru", D, W, 1, 0.5)
    assert not torch.allclose(deep(x, deep.start(x))[0], deep(x, deep.start(x))[0])
    assert torch.equal(shallow(x, shallow.start(x))[0], shallow(x, shallow.start(x))[0])
    deep.eval()
    assert torch.equal(deep(x, deep.start(x))[0], deep(x, deep.start(x))[0])


def test_reversing_leaves_padding_where_it_is() -> None:
    values = torch.arange(10).view(2, 5, 1)
    turned = reverse_sequence(values, torch.tensor([3, 5]))
    assert turned[:, :, 0].tolist() == [[2, 1, 0, 3, 4], [9, 8, 7, 6, 5]]
    assert torch.equal(reverse_sequence(turned, torch.tensor([3, 5])), values)


def test_each_row_ends_at_its_own_step() -> None:
    torch.manual_seed(3)
    cell, x = make_cell("lstm", D, W), torch.randn(B, T, D)
    states = cell.unroll(x, cell.start(x))
    hidden, memory = state_at(states, torch.tensor([2, 0, 5]))
    for row, step in enumerate((2, 0, 5)):
        assert torch.equal(hidden[row], states[0][row, step])
        assert torch.equal(memory[row], states[1][row, step])
