// Attention in the open: scores → weights → context, for every way of scoring.
//
//     scores   how well each key answers each query        (T, S) a head
//     weights  softmax of the scores over the allowed keys  (T, S)
//     context  the weighted mean of the values              (T, K)

import { Matrix, dot, joined, linear, product } from "./arrays.js";
import { alibiSlope, rotate } from "./positions.js";

// Softmax of each row; -Infinity: not allowed
export function weigh(scores) {
  const weights = new Matrix(scores.rows, scores.columns);
  for (let row = 0; row < scores.rows; row += 1) {
    const values = scores.row(row);
    let most = -Infinity,
      sum = 0;
    for (const value of values) most = Math.max(most, value);
    for (const value of values) sum += Math.exp(value - most);
    weights.row(row).set(values.map((value) => Math.exp(value - most) / sum));
  }
  return weights;
}

// Weights in proportion to the scores, made positive first: log(1 + eˢ)
function weighInProportion(scores) {
  const positive = scores.map((value) => (value > 20 ? value : Math.log1p(Math.exp(value))));
  for (let row = 0; row < scores.rows; row += 1) {
    const sum = positive.row(row).reduce((total, value) => total + value, 0);
    positive.row(row).forEach((value, key) => (positive.row(row)[key] = value / Math.max(sum, 1e-38)));
  }
  return positive;
}

// concat_h(softmax(Q_h K_hᵀ/√K) V_h) W_o  (Vaswani 2017, 3.2.2)
export class MultiHeadAttention {
  constructor(parameters, heads, positions = null) {
    this.heads = heads;
    this.positions = positions;
    this.weights = parameters.tap("weights");
    const projection = (name) => (parameters.has(`${name}.weight`) ? parameters.at(name) : null);
    this.queryProj = projection("query_proj");
    this.keyProj = projection("key_proj");
    this.valueProj = projection("value_proj");
    this.outputProj = projection("output_proj");
  }

  // Keys and values of states, the first of which stands at `start`: (S, H·K) each
  prepare(states, start = 0) {
    const keys = projected(states, this.keyProj);
    return {
      keys: this.positions === "rotary" ? rotate(keys, this.heads, start) : keys,
      values: projected(states, this.valueProj),
    };
  }

  // causal: each query attends to itself and to what precedes it; queries are then the last T of S positions
  forward(query, { keys, values }, causal = false) {
    const before = keys.rows - query.rows;
    let queries = projected(query, this.queryProj);
    if (this.positions === "rotary") queries = rotate(queries, this.heads, before);
    const scores = Array.from({ length: this.heads }, (_, head) => this.scores(queries, keys, head, causal));
    const weights = this.weights.see(scores.map(weigh));
    const contexts = weights.map((one, head) => product(one, columnsOf(values, head, this.heads)));
    return projected(joined(contexts), this.outputProj);
  }

  scores(queries, keys, head, causal) {
    const width = queries.columns / this.heads,
      before = keys.rows - queries.rows;
    const slope = this.positions === "alibi" ? alibiSlope(head, this.heads) : 0;
    const scores = new Matrix(queries.rows, keys.rows);
    for (let t = 0; t < queries.rows; t += 1) {
      for (let s = 0; s < keys.rows; s += 1) {
        const from = head * width;
        const match = dot(queries.data, t * queries.columns + from, keys.data, s * keys.columns + from, width);
        const later = causal && s > before + t;
        scores.row(t)[s] = later ? -Infinity : match / Math.sqrt(width) - slope * Math.abs(before + t - s);
      }
    }
    return scores;
  }
}

function projected(states, proj) {
  return proj ? linear(states, proj.matrix("weight"), proj.vector("bias")) : states;
}

function columnsOf(matrix, part, parts) {
  const width = matrix.columns / parts,
    result = new Matrix(matrix.rows, width);
  for (let row = 0; row < matrix.rows; row += 1) {
    result.row(row).set(matrix.row(row).subarray(part * width, (part + 1) * width));
  }
  return result;
}

// One head of a recurrent decoder: the states themselves are the values.
export class ScoredAttention {
  constructor(parameters, score, weighting) {
    this.heads = 1;
    this.score = SCORES[score](parameters.at("score"));
    this.weigh = weighting === "proportional" ? weighInProportion : weigh;
    this.weights = parameters.tap("weights");
  }

  prepare(states) {
    return { keys: this.score.prepare(states), values: states };
  }

  forward(query, { keys, values }) {
    const [weights] = this.weights.see([this.weigh(this.score.scores(query, keys))]);
    return product(weights, values);
  }
}

// How a query s is compared with the states h of a memory: what depends on h alone, and the scores (T, S).
const SCORES = {
  // hᵀs
  dot: () => ({ prepare: (states) => states, scores: (query, keys) => linear(query, keys) }),
  // hᵀs / √m
  "scaled-dot": () => ({ prepare: (states) => states, scores: scaledDot }),
  // hᵀWs / √m (Luong 2015, "general")
  bilinear: (parameters) => ({ prepare: (states) => through(parameters, "key_proj", states), scores: scaledDot }),
  // (W₁h)ᵀ(W₂s)
  projected: (parameters) => ({
    prepare: (states) => through(parameters, "key_proj", states),
    scores: (query, keys) => linear(through(parameters, "query_proj", query), keys),
  }),
  // g · hᵀs / (|h||s|)
  cosine: (parameters) => {
    const scale = Math.exp(parameters.vector("log_scale")[0]);
    return { prepare: unit, scores: (query, keys) => linear(unit(query), keys).map((value) => scale * value) };
  },
  // vᵀ tanh(W h + U s + b) (Bahdanau 2015, A.1.2)
  additive: (parameters) => ({
    prepare: (states) => through(parameters, "key_proj", states),
    scores: (query, keys) => {
      const projection = through(parameters, "query_proj", query),
        v = parameters.at("score_proj").matrix("weight").data;
      const scores = new Matrix(query.rows, keys.rows);
      for (let t = 0; t < query.rows; t += 1) {
        const own = projection.row(t);
        for (let s = 0; s < keys.rows; s += 1) {
          let sum = 0;
          const key = keys.row(s);
          for (let i = 0; i < v.length; i += 1) sum += v[i] * Math.tanh(own[i] + key[i]);
          scores.row(t)[s] = sum;
        }
      }
      return scores;
    },
  }),
};

function through(parameters, name, states) {
  const proj = parameters.at(name);
  return linear(states, proj.matrix("weight"), proj.vector("bias"));
}

function scaledDot(query, keys) {
  return linear(query, keys).map((value) => value / Math.sqrt(keys.columns));
}

function unit(states) {
  const result = new Matrix(states.rows, states.columns);
  for (let row = 0; row < states.rows; row += 1) {
    const length = Math.sqrt(dot(states.row(row), 0, states.row(row), 0, states.columns));
    result.row(row).set(states.row(row).map((value) => value / Math.max(length, 1e-12)));
  }
  return result;
}
