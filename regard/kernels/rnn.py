"""A recurrent cell over a whole sequence as one node of the graph, with both loops written out.

Several times as fast as the steps of the plain cell: what does not depend on the state is computed for all steps
together, and the weights' gradient is one product instead of one for each step. Tensors are time first: projected
inputs (T, B, gates·W) with both biases in them, state weights U (gates·W, W).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.models.recurrent import DirectedLayer
from regard.nn.recurrent import Cell, CellState, GRUCell, LSTMCell, VanillaCell
from regard.nn.taps import Tap


class FusedCell(Cell):
    """A whole sequence as one node, on the CPU and where no tap watches the steps."""

    @abstractmethod
    def run(self, projected: Tensor, state: CellState) -> CellState:
        """Projected inputs (T, B, gates·W) and a state → those after each step, every tensor (T, B, W)."""

    def project(self, inputs: Tensor) -> Tensor:
        """What the gates get of the inputs, with both biases (a GRU keeps the state's apart)."""
        return F.linear(inputs, self.input_proj.weight, self.input_proj.bias + self.state_proj.bias)

    def unroll(
        self, inputs: Tensor, state: CellState, constant: Tensor | float = 0.0, tap: Tap | None = None
    ) -> CellState:
        if tap is not None or inputs.shape[1] == 1 or inputs.device.type != "cpu":
            return super().unroll(inputs, state, constant, tap)
        projected = self.project(inputs.transpose(0, 1).contiguous())
        if isinstance(constant, Tensor):
            projected = projected + constant
        return tuple(tensor.transpose(0, 1) for tensor in self.run(projected, state))


class FusedVanillaCell(FusedCell, VanillaCell):
    def run(self, projected: Tensor, state: CellState) -> CellState:
        return (_Vanilla.apply(projected, self.state_proj.weight, *state),)


class FusedLSTMCell(FusedCell, LSTMCell):
    def run(self, projected: Tensor, state: CellState) -> CellState:
        return _LSTM.apply(projected, self.state_proj.weight, *state)


class FusedGRUCell(FusedCell, GRUCell):
    def project(self, inputs: Tensor) -> Tensor:
        return self.input_proj(inputs)

    def run(self, projected: Tensor, state: CellState) -> CellState:
        return (_GRU.apply(projected, self.state_proj.weight, self.state_proj.bias, *state),)


class FusedDirectedLayer(DirectedLayer):
    """Both directions by torch's own loop in C++, where no gradients are needed."""

    def read(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        if self.forwards is None or self.backwards is None or torch.is_grad_enabled():
            return super().read(inputs, lengths)
        if self.forwards.first_state is not None:  # torch's packed sequences would need it sorted; it is rare
            return super().read(inputs, lengths)
        return read_both_directions(self.forwards, self.backwards, inputs, lengths)


def read_both_directions(forwards: Cell, backwards: Cell, inputs: Tensor, lengths: Tensor) -> Tensor:
    """Inputs (B, S, D) → the states of both cells side by side (B, S, 2·W), zero where a row has ended."""
    function = TORCH[type(forwards)]
    projections = (forwards.input_proj, forwards.state_proj, backwards.input_proj, backwards.state_proj)
    parameters = []
    for of_input, of_state in (projections[:2], projections[2:]):
        parameters += [of_input.weight, of_state.weight, of_input.bias, of_state.bias]
    first = tuple(inputs.new_zeros(2, inputs.shape[0], forwards.width) for _ in range(forwards.memories))
    start, switches = first if len(first) > 1 else first[0], (True, 1, 0.0, False, True)
    if bool((lengths == inputs.shape[1]).all()):
        return function(inputs, start, parameters, *switches, True)[0]
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    data = function(packed.data, packed.batch_sizes, start, parameters, *switches)[0]
    states = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    return pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])[0]


TORCH: dict[type[Cell], Callable[..., tuple[Tensor, ...]]] = {
    FusedVanillaCell: torch.rnn_tanh,
    FusedLSTMCell: torch.lstm,
    FusedGRUCell: torch.gru,
}


class _Vanilla(torch.autograd.Function):
    """h_t = tanh(x_t + U h_(t-1))."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, weight: Tensor, first: Tensor) -> Tensor:
        hidden = torch.empty_like(projected)  # (T, B, W)
        before = first
        for inputs, output in zip(projected, hidden, strict=True):
            torch.addmm(inputs, before, weight.t(), out=output).tanh_()
            before = output
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


class _LSTM(torch.autograd.Function):
    """i, f, g, o = x_t + U h_(t-1);  c_t = σ(f) c_(t-1) + σ(i) tanh(g);  h_t = σ(o) tanh(c_t)."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, weight: Tensor, first: Tensor, first_cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        steps, batch, width = projected.shape[0], *first.shape
        gates = torch.empty_like(projected).view(steps, batch, 4, width)
        hidden, cells, bounded = (first.new_empty(steps, batch, width) for _ in range(3))
        arrays = [tensor.numpy() for tensor in (gates.flatten(2), cells, bounded, hidden)]
        before, cell = first, first_cell.detach().numpy()
        for step in range(steps):
            torch.addmm(projected[step], before, weight.t(), out=gates[step].view(batch, -1))
            gate, new_cell, tanh_cell, new = (array[step] for array in arrays)
            lstm_step(gate, cell, new_cell, tanh_cell, new)
            before, cell = hidden[step], new_cell
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


def lstm_step(
    gates: np.ndarray, cell: np.ndarray, new_cell: np.ndarray, bounded: np.ndarray, hidden: np.ndarray
) -> None:
    """Gates (B, 4·W) before their activations, which replace them, and the cell (B, W) before → the last three.

    By NumPy, whose calls cost less than torch's and whose tanh is faster; σ(x) = (1 + tanh(x / 2)) / 2.
    """
    width = cell.shape[1]
    into_forget, out = gates[:, : 2 * width], gates[:, 3 * width :]
    into_forget *= 0.5
    out *= 0.5
    np.tanh(gates, out=gates)
    into_forget += 1
    into_forget *= 0.5
    out += 1
    out *= 0.5
    np.multiply(into_forget[:, width:], cell, out=new_cell)
    np.multiply(into_forget[:, :width], gates[:, 2 * width : 3 * width], out=bounded)
    new_cell += bounded
    np.tanh(new_cell, out=bounded)
    np.multiply(out, bounded, out=hidden)


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


class _GRU(torch.autograd.Function):
    """r, z = σ(x_t + U h);  n = tanh(x_n + r (U_n h + b_n));  h_t = n + z (h - n)."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, weight: Tensor, bias: Tensor, first: Tensor) -> Tensor:
        steps, batch, width = projected.shape[0], *first.shape
        gates = torch.empty_like(projected)  # r, z, n after their activations
        recalled, hidden = (first.new_empty(steps, batch, width) for _ in range(2))  # U_n h + b_n
        before = first
        for step in range(steps):
            from_state = torch.addmm(bias, before, weight.t())
            gate = gates[step]
            torch.add(projected[step, :, : 2 * width], from_state[:, : 2 * width], out=gate[:, : 2 * width])
            gate[:, : 2 * width].sigmoid_()
            recalled[step] = from_state[:, 2 * width :]
            reset, update, new = gate.split(width, dim=1)
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
