"""A recurrent cell over a whole sequence as one node of the graph: the loops forwards and backwards are written out.

Each function gives what `step` after `step` gives (tested, with its gradients), several times as fast: what does not
depend on the state is done for all steps at once, and the weights' gradient is one product instead of one a step.
Tensors are time first: projected inputs (T, B, gates·W) with both biases in them, state weights U (gates·W, W).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class VanillaRun(torch.autograd.Function):
    """h_t = tanh(x_t + U h_(t-1))."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, weight: Tensor, first: Tensor) -> Tensor:
        hidden = torch.empty_like(projected)  # (T, B, W)
        before = first
        for inputs, now in zip(projected, hidden, strict=True):
            torch.addmm(inputs, before, weight.t(), out=now).tanh_()
            before = now
        ctx.save_for_backward(hidden, weight, first)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, ...]:  # pyrefly: ignore[bad-override]
        hidden, weight, first = ctx.saved_tensors
        (given,) = gradients
        slope = torch.addcmul(torch.ones_like(hidden), hidden, hidden, value=-1)
        changes = torch.empty_like(hidden)
        back = torch.zeros_like(first)
        for step in reversed(range(hidden.shape[0])):
            torch.mul(back.add_(given[step]), slope[step], out=changes[step])
            back = changes[step] @ weight
        return changes, weight_gradient(changes, hidden, first), back


class LSTMRun(torch.autograd.Function):
    """i, f, g, o = x_t + U h_(t-1);  c_t = σ(f) c_(t-1) + σ(i) tanh(g);  h_t = σ(o) tanh(c_t)."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, weight: Tensor, first: Tensor, first_cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        steps, batch, width = projected.shape[0], *first.shape
        gates = torch.empty_like(projected).view(steps, batch, 4, width)
        hidden, cells, bounded = (first.new_empty(steps, batch, width) for _ in range(3))
        before, cell = first, first_cell
        for step in range(steps):
            torch.addmm(projected[step], before, weight.t(), out=gates[step].view(batch, -1))
            lstm_step(gates[step].view(batch, -1), cell, cells[step], bounded[step], hidden[step])
            before, cell = hidden[step], cells[step]
        ctx.save_for_backward(gates, hidden, cells, bounded, weight, first, first_cell)
        return hidden, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, ...]:  # pyrefly: ignore[bad-override]
        gates, hidden, cells, bounded, weight, first, first_cell = ctx.saved_tensors
        given, given_cell = gradients
        slopes, through = lstm_slopes(gates, cells, bounded, first_cell)
        changes = torch.empty_like(gates)
        back, back_cell = torch.zeros_like(first), torch.zeros_like(first)
        for step in reversed(range(hidden.shape[0])):
            back.add_(given[step])
            back_cell.add_(given_cell[step])
            back_cell = lstm_back(back, back_cell, slopes[step], through[step], gates[step], changes[step])
            back = changes[step].flatten(1) @ weight
        changes = changes.flatten(2)
        return changes, weight_gradient(changes, hidden, first), back, back_cell


def lstm_step(gates: Tensor, cell: Tensor, new_cell: Tensor, bounded: Tensor, hidden: Tensor) -> None:
    """Gates (B, 4·W) before their activations, the cell (B, W) before → the three outputs, in place."""
    width = cell.shape[1]
    gates[:, : 2 * width].sigmoid_()
    gates[:, 2 * width : 3 * width].tanh_()
    gates[:, 3 * width :].sigmoid_()
    into, forget, candidate, out = gates.split(width, dim=1)
    torch.mul(forget, cell, out=new_cell).addcmul_(into, candidate)
    torch.tanh(new_cell, out=bounded)
    torch.mul(out, bounded, out=hidden)


def lstm_slopes(gates: Tensor, cells: Tensor, bounded: Tensor, first_cell: Tensor) -> tuple[Tensor, Tensor]:
    """For all steps at once: by what ∂c (i, f, g) and ∂h (o) are multiplied to give ∂gates, and ∂h to give ∂c."""
    into, forget, candidate, out = gates.unbind(2)
    before = torch.cat((first_cell[None], cells[:-1]))
    slopes = torch.empty_like(gates)
    torch.mul(into * (1 - into), candidate, out=slopes[:, :, 0])
    torch.mul(forget * (1 - forget), before, out=slopes[:, :, 1])
    torch.mul(1 - candidate * candidate, into, out=slopes[:, :, 2])
    torch.mul(out * (1 - out), bounded, out=slopes[:, :, 3])
    return slopes, out * (1 - bounded * bounded)


def lstm_back(
    back: Tensor, back_cell: Tensor, slopes: Tensor, through: Tensor, gates: Tensor, changes: Tensor
) -> Tensor:
    """One step backwards: ∂h and ∂c (B, W) → `changes`, which is ∂gates (B, 4, W), and the ∂c of the step before."""
    back_cell = torch.addcmul(back_cell, back, through)
    torch.mul(slopes[:, :3], back_cell[:, None], out=changes[:, :3])
    torch.mul(slopes[:, 3], back, out=changes[:, 3])
    return back_cell * gates[:, 1]


class GRURun(torch.autograd.Function):
    """r, z = σ(x_t + U h);  n = tanh(x_n + r (U_n h + b_n));  h_t = n + z (h - n)."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, weight: Tensor, bias: Tensor, first: Tensor) -> Tensor:
        steps, batch, width = projected.shape[0], *first.shape
        gates = torch.empty_like(projected)  # r, z, n after their activations
        recalled, hidden = (first.new_empty(steps, batch, width) for _ in range(2))  # U_n h + b_n
        before = first
        for step in range(steps):
            from_state = torch.addmm(bias, before, weight.t())
            now = gates[step]
            torch.add(projected[step, :, : 2 * width], from_state[:, : 2 * width], out=now[:, : 2 * width])
            now[:, : 2 * width].sigmoid_()
            recalled[step] = from_state[:, 2 * width :]
            reset, update, new = now.split(width, dim=1)
            torch.addcmul(projected[step, :, 2 * width :], reset, recalled[step], out=new).tanh_()
            torch.lerp(new, before, update, out=hidden[step])
            before = hidden[step]
        ctx.save_for_backward(gates, recalled, hidden, weight, first)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, ...]:  # pyrefly: ignore[bad-override]
        gates, recalled, hidden, weight, first = ctx.saved_tensors
        (given,) = gradients
        reset, update, new = gates.split(first.shape[1], dim=2)
        before = torch.cat((first[None], hidden[:-1]))
        to_new = (1 - update) * (1 - new * new)
        to_update = (before - new) * update * (1 - update)
        to_reset = to_new * recalled * reset * (1 - reset)
        slopes = torch.stack((to_reset, to_update, to_new * reset), dim=2)  # into r, z and U_n h, all from ∂h
        changes = torch.empty_like(slopes)
        inputs = torch.empty_like(gates)
        back = torch.zeros_like(first)
        for step in reversed(range(hidden.shape[0])):
            back = back.add_(given[step])
            torch.mul(slopes[step], back[:, None], out=changes[step])
            torch.mul(to_new[step], back, out=inputs[step, :, 2 * first.shape[1] :])
            back = torch.addmm(back * update[step], changes[step].flatten(1), weight)
        changes = changes.flatten(2)
        inputs[:, :, : 2 * first.shape[1]] = changes[:, :, : 2 * first.shape[1]]
        return inputs, weight_gradient(changes, hidden, first), changes.sum((0, 1)), back


def weight_gradient(changes: Tensor, hidden: Tensor, first: Tensor) -> Tensor:
    """Σ_t ∂gates_t h_(t-1)ᵀ as one product."""
    before = torch.cat((first[None], hidden[:-1]))
    return changes.flatten(0, 1).t() @ before.flatten(0, 1)
