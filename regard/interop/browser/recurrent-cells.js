// Recurrent cells: one step is written as in its paper. A state is a list of rows whose first is the hidden state h.

import { Matrix, linear, sigmoid } from "./arrays.js";

class Cell {
  constructor(parameters) {
    this.parameters = parameters;
    this.inputProj = parameters.at("input_proj");
    this.stateProj = parameters.at("state_proj");
    this.width = this.stateProj.matrix("weight").columns;
  }

  // The state before the first input: zeros, or what was learned
  start() {
    const learned = this.parameters.vector("first_state") ?? new Float32Array(this.memories * this.width);
    return Array.from(
      { length: this.memories },
      (_, i) => new Matrix(1, this.width, learned.slice(i * this.width, (i + 1) * this.width)),
    );
  }

  project(inputs) {
    return linear(inputs, this.inputProj.matrix("weight"), this.inputProj.vector("bias"));
  }

  recur(hidden) {
    return linear(hidden, this.stateProj.matrix("weight"), this.stateProj.vector("bias")).data;
  }

  // Numbers i of the next state from those of the gates
  made(number) {
    return new Matrix(
      1,
      this.width,
      Float32Array.from({ length: this.width }, (_, i) => number(i)),
    );
  }
}

// h' = tanh(W x + U h + b)  (Elman 1990)
class VanillaCell extends Cell {
  memories = 1;

  step(projected, [hidden]) {
    const recurrent = this.recur(hidden);
    return [this.made((i) => Math.tanh(projected[i] + recurrent[i]))];
  }
}

// c' = σ(f) c + σ(i) tanh(g),  h' = σ(o) tanh(c')  (Hochreiter & Schmidhuber 1997; gates i, f, g, o)
class LSTMCell extends Cell {
  memories = 2;

  step(projected, [hidden, cell]) {
    const recurrent = this.recur(hidden),
      width = this.width;
    const gate = (number, i) => projected[number * width + i] + recurrent[number * width + i];
    const after = this.made((i) => sigmoid(gate(1, i)) * cell.data[i] + sigmoid(gate(0, i)) * Math.tanh(gate(2, i)));
    return [this.made((i) => sigmoid(gate(3, i)) * Math.tanh(after.data[i])), after];
  }
}

// h' = (1 - z) n + z h,  n = tanh(W x + r (U h))  (Cho 2014; gates r, z, n)
class GRUCell extends Cell {
  memories = 1;

  step(projected, [hidden]) {
    const recurrent = this.recur(hidden),
      width = this.width;
    return [
      this.made((i) => {
        const reset = sigmoid(projected[i] + recurrent[i]);
        const update = sigmoid(projected[width + i] + recurrent[width + i]);
        const fresh = Math.tanh(projected[2 * width + i] + reset * recurrent[2 * width + i]);
        return fresh + update * (hidden.data[i] - fresh);
      }),
    ];
  }
}

const CELLS = { rnn: VanillaCell, lstm: LSTMCell, gru: GRUCell };

export function makeCell(parameters, kind) {
  return new CELLS[kind](parameters);
}

// Inputs (T, D) one after the other → hidden states (T, W) and the last state
export function unroll(cell, inputs, before, constant = null) {
  const projected = cell.project(inputs),
    hidden = new Matrix(inputs.rows, cell.width);
  let state = before;
  for (let t = 0; t < inputs.rows; t += 1) {
    const row = constant ? projected.row(t).map((value, i) => value + constant[i]) : projected.row(t);
    state = cell.step(row, state);
    hidden.row(t).set(state[0].data);
  }
  return [hidden, state];
}

export function reversed(matrix) {
  const result = new Matrix(matrix.rows, matrix.columns);
  for (let row = 0; row < matrix.rows; row += 1) result.row(row).set(matrix.row(matrix.rows - 1 - row));
  return result;
}
