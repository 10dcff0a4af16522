// The pointer-generator: a word of the output is generated, or copied from the source (See 2017, 2.2; Vinyals 2015).
//
//     a_t = softmax_i(h_iᵀ W x_t / √D)                 where to copy from, a map over the source
//     g_t = σ(w·x_t + b)                               how likely the next token is generated
//     p_t(y) = g_t softmax(E x_t + b)_y + (1 - g_t) Σ_{i: s_i = y} a_ti

import { Matrix, linear, logSoftmax, sigmoid } from "./arrays.js";
import { weigh } from "./attention.js";

const SMALLEST = 1e-30;

export class Pointer {
  constructor(parameters) {
    this.queryProj = parameters.at("query_proj");
    this.gateProj = parameters.at("gate_proj");
    this.weights = parameters.tap("weights");
  }

  // Logits (T, V) of generating, features (T, E) → log-probabilities (T, V)
  mix(logits, features, { states, ids }) {
    const queries = linear(features, this.queryProj.matrix("weight"));
    const scores = linear(queries, states).map((value) => value / Math.sqrt(states.columns));
    const [weights] = this.weights.see([weigh(scores)]);
    const gates = linear(features, this.gateProj.matrix("weight"), this.gateProj.vector("bias")).data;
    const mixed = new Matrix(logits.rows, logits.columns);
    for (let t = 0; t < logits.rows; t += 1) {
      const copied = new Float64Array(logits.columns),
        generated = sigmoid(gates[t]);
      weights.row(t).forEach((weight, i) => (copied[ids[i]] += weight));
      const share = (log, id) => Math.log(generated * Math.exp(log) + (1 - generated) * Math.max(copied[id], SMALLEST));
      mixed.row(t).set(logSoftmax(logits.row(t)).map(share));
    }
    return mixed;
  }
}
