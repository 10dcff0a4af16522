// Recurrent encoder and decoder: Sutskever 2014, Cho 2014 (a fixed vector), Bahdanau 2015 (attention).
//
// encoder   h_i = f(x_i, h_(i-1)), read forwards, backwards or in both directions;  c = last states
// decoder   s_t = f(y_(t-1), s_(t-1) [, c or c_t]),  p(y_t) = softmax(W tanh(R [s_t, y_(t-1) [, c or c_t]]))
// attention c_t = Σ_i softmax_i(score(h_i, s_(t-1) [+ Q y_(t-1)])) h_i

import { Matrix, add, joined, linear, stacked } from "./arrays.js";
import { MultiHeadAttention, ScoredAttention } from "./attention.js";
import { Embedding, Output } from "./blocks.js";
import { makeCell, reversed, unroll } from "./recurrent-cells.js";

export class RecurrentEncoder {
  constructor(parameters, { cell }) {
    this.embedding = new Embedding(parameters.at("embedding"));
    const directed = (layer, way) => (layer.has(`${way}.input_proj.weight`) ? makeCell(layer.at(way), cell) : null);
    this.layers = parameters.list("layers", (layer) => ({
      forwards: directed(layer, "forwards"),
      backwards: directed(layer, "backwards"),
    }));
  }

  encode(ids) {
    let states = this.embedding.forward(ids),
      summary = null;
    for (const { forwards, backwards } of this.layers) {
      const sides = [],
        ends = [];
      if (forwards) {
        const [hidden, last] = unroll(forwards, states, forwards.start());
        sides.push(hidden);
        ends.push(last[0]);
      }
      if (backwards) {
        const [hidden, last] = unroll(backwards, reversed(states), backwards.start());
        sides.push(reversed(hidden));
        ends.push(last[0]);
      }
      states = joined(sides);
      summary = joined(ends);
    }
    return { states, summary };
  }
}

// Its state: a cell state for each layer.
export class RecurrentDecoder {
  constructor(parameters, config) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.cells = parameters.list("stack.layers", (layer) => makeCell(layer, config.cell));
    this.bridge = parameters.at("bridge");
    this.contextProj = parameters.has("context_proj.weight") ? parameters.at("context_proj") : null;
    this.tokenProj = parameters.has("token_proj.weight") ? parameters.at("token_proj") : null;
    this.readout = parameters.at("readout_proj");
    this.output = new Output(parameters.at("output"));
    this.everyStep = config.context === "every-step";
    this.attention = config.context === "attention" ? attentionOf(parameters.at("attention"), config) : null;
  }

  prepare(memory) {
    return this.attention ? { ...memory, source: this.attention.prepare(memory.states) } : memory;
  }

  // s_0 = tanh(W c) for every layer
  start(memory) {
    const first = linear(memory.summary, this.bridge.matrix("weight"), this.bridge.vector("bias")).map(Math.tanh).data;
    let place = 0;
    return this.cells.map((cell) =>
      Array.from({ length: cell.memories }, () => {
        place += cell.width;
        return new Matrix(1, cell.width, first.slice(place - cell.width, place));
      }),
    );
  }

  advance(ids, memory, state) {
    const embedded = this.embedding.forward(ids),
      features = [];
    let layers = state;
    for (let t = 0; t < ids.length; t += 1) {
      const token = embedded.slice(t, t + 1);
      const context = this.context(token, memory, layers);
      layers = this.step(token, context, layers);
      const inputs = joined([layers.at(-1)[0], token, ...(context ? [context] : [])]);
      features.push(linear(inputs, this.readout.matrix("weight"), this.readout.vector("bias")).map(Math.tanh));
    }
    return [stacked(features), layers];
  }

  // The state before each step is the query, with token_proj s_(t-1) + Q y_(t-1).
  context(token, memory, layers) {
    if (this.everyStep) return memory.summary;
    if (!this.attention) return null;
    const state = layers.at(-1)[0];
    const query = this.tokenProj ? add(state, linear(token, this.tokenProj.matrix("weight"))) : state;
    return this.attention.forward(query, memory.source);
  }

  step(token, context, layers) {
    let inputs = token;
    return this.cells.map((cell, index) => {
      let projected = cell.project(inputs);
      if (!index && context) projected = add(projected, linear(context, this.contextProj.matrix("weight")));
      const after = cell.step(projected.data, layers[index]);
      inputs = after[0];
      return after;
    });
  }
}

function attentionOf(parameters, { score, weighting, heads }) {
  return score === "multi-head"
    ? new MultiHeadAttention(parameters, heads)
    : new ScoredAttention(parameters, score, weighting);
}

// One recurrence reads the source and generates the target; its state has a constant size.
export class RecurrentReader {
  constructor(parameters, { cell }) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.cells = parameters.list("stack.layers", (layer) => makeCell(layer, cell));
    this.readout = parameters.at("readout_proj");
    this.output = new Output(parameters.at("output"));
  }

  start() {
    return this.cells.map((cell) => cell.start());
  }

  advance(ids, _, state) {
    let states = this.embedding.forward(ids);
    const layers = this.cells.map((cell, index) => {
      const [hidden, last] = unroll(cell, states, state[index]);
      states = hidden;
      return last;
    });
    const readout = linear(states, this.readout.matrix("weight"), this.readout.vector("bias"));
    return [readout.map(Math.tanh), layers];
  }
}
