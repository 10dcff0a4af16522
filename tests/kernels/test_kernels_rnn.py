"""Recurrent cells over a whole sequence against their own steps."""

from __future__ import annotations

import pytest
import torch

from regard.kernels.fusion import fuse
from regard.models.recurrent import DirectedLayer
from regard.nn.recurrent import Cell, make_cell
from regard.nn.taps import Tap

KINDS = ["rnn", "lstm", "gru"]
B, T, D, W = 3, 6, 5, 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_step_by_step_with_every_gradient(kind: str) -> None:
    """Every state at every step, and the gradients of inputs, weights, biases and the first state."""
    torch.manual_seed(4)
    cell, x = fuse(make_cell(kind, D, W)).double(), torch.randn(B, T, D, dtype=torch.double, requires_grad=True)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.normal_()
    first = tuple(torch.randn(B, W, dtype=torch.double, requires_grad=True) for _ in range(cell.memories))
    constant = torch.randn(B, cell.gates * W, dtype=torch.double, requires_grad=True)
    fused, plain = cell.unroll(x, first, constant), Cell.unroll(cell, x, first, constant)
    weights = [torch.randn(B, T, W, dtype=torch.double) for _ in plain]
    results = []
    for states in (plain, fused):
        loss = sum((state * weight).sum() for state, weight in zip(states, weights, strict=True))
        results.append(torch.autograd.grad(loss, [x, constant, *first, *cell.parameters()]))
    assert len({type(state.grad_fn) for state in (fused[0], plain[0])}) == 2
    for ours, theirs in zip(fused, plain, strict=True):
        torch.testing.assert_close(ours, theirs)
    for expected, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tap_sees_every_step(kind: str) -> None:
    cell, x = fuse(make_cell(kind, D, W)), torch.randn(B, T, D)
    plain = Cell.unroll(cell, x, cell.start(x))
    for ours, theirs in zip(cell.unroll(x, cell.start(x), tap=Tap()), plain, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[6, 6, 6], [4, 6, 1]])
def test_both_directions_by_torch_are_ours(kind: str, lengths: list[int]) -> None:
    """Where rows end together, and where they do not."""
    torch.manual_seed(2)
    layer, x = fuse(DirectedLayer(kind, "both", D, 2 * W)), torch.randn(B, T, D)
    ends, mask = torch.tensor(lengths), torch.arange(T) < torch.tensor(lengths)[:, None]
    expected, summary = layer(x, ends)
    with torch.no_grad():
        states, last = layer(x, ends)
    torch.testing.assert_close(states[mask], expected[mask].detach())
    torch.testing.assert_close(last, summary.detach())
