// The layers around attention: the residual path with its norm, the point-wise feed-forward layer, embeddings, output.

import { Matrix, add, layerNorm, linear, sigmoid } from "./arrays.js";

const ACTIVATIONS = {
  relu: (value) => Math.max(0, value),
  gelu: (value) => (value / 2) * (1 + erf(value / Math.SQRT2)),
  tanh: Math.tanh,
  silu: (value) => value * sigmoid(value),
};

// pre: x + f(norm(x));  post: norm(x + f(x));  none: x + f(x);  not connected: without x +
export class Residual {
  constructor(parameters, { norm, residuals }) {
    this.place = norm;
    this.connected = residuals;
    this.norm = norm === "none" ? null : parameters.at("norm");
  }

  before(states) {
    return this.place === "pre" ? normed(states, this.norm) : states;
  }

  after(states, change) {
    const sum = this.connected ? add(states, change) : change;
    return this.place === "post" ? normed(sum, this.norm) : sum;
  }
}

export function normed(states, norm) {
  return layerNorm(states, norm.vector("weight"), norm.vector("bias"));
}

// Pre-norm leaves the residual path unnormed: one more norm stands at its end.
export function lastNorm(parameters) {
  return parameters.has("norm.weight") ? (states) => normed(states, parameters.at("norm")) : (states) => states;
}

// W₂ φ(W₁ x + b₁) + b₂ at each position alone
export class FeedForward {
  constructor(parameters, activation) {
    this.inner = parameters.at("inner_proj");
    this.outer = parameters.at("output_proj");
    this.activation = ACTIVATIONS[activation];
  }

  forward(states) {
    const hidden = linear(states, this.inner.matrix("weight"), this.inner.vector("bias")).map(this.activation);
    return linear(hidden, this.outer.matrix("weight"), this.outer.vector("bias"));
  }
}

// √D · table[id]
export class Embedding {
  constructor(parameters) {
    this.table = parameters.matrix("weight");
  }

  forward(ids) {
    const { columns } = this.table,
      result = new Matrix(ids.length, columns),
      scale = Math.sqrt(columns);
    ids.forEach((id, row) => result.row(row).set(this.table.row(id).map((value) => value * scale)));
    return result;
  }
}

// logits = x Eᵀ + b
export class Output {
  constructor(parameters) {
    this.parameters = parameters;
  }

  forward(states) {
    return linear(states, this.parameters.matrix("weight"), this.parameters.vector("bias"));
  }
}

// erf x = 2/√π ∫₀ˣ exp(-t²) dt: its series near 0, the continued fraction of its complement beyond; both to 1e-12
function erf(value) {
  const x = Math.abs(value);
  let result = 1;
  if (x < 2.5) {
    let term = x;
    result = x;
    for (let n = 1; Math.abs(term) > 1e-17; n += 1) {
      term *= (-x * x) / n;
      result += term / (2 * n + 1);
    }
    result *= 2 / Math.sqrt(Math.PI);
  } else if (x < 6) {
    let fraction = 0;
    for (let n = 60; n > 0; n -= 1) fraction = n / 2 / (x + fraction);
    result = 1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
  }
  return value < 0 ? -result : result;
}
