// The Transformer (Vaswani 2017): nothing but attention, point-wise layers, residuals, norms and positions.
//
// encoder layer   x = x + SelfAttention(x);  x = x + FeedForward(x)
// decoder layer   x = x + MaskedSelfAttention(x);  x = x + CrossAttention(x, memory);  x = x + FeedForward(x)

import { mean, stacked } from "./arrays.js";
import { MultiHeadAttention } from "./attention.js";
import { Embedding, FeedForward, Output, Residual, lastNorm } from "./blocks.js";
import { PositionalEmbedding } from "./positions.js";

class Layer {
  constructor(parameters, config) {
    const inside = ["rotary", "alibi"].includes(config.positions) ? config.positions : null;
    this.selfAttention = new MultiHeadAttention(parameters.at("self_attention"), config.heads, inside);
    this.selfResidual = new Residual(parameters.at("self_residual"), config);
    this.feedForward = new FeedForward(parameters.at("feed_forward"), config.activation);
    this.ffnResidual = new Residual(parameters.at("ffn_residual"), config);
    this.crossAttention = parameters.has("cross_attention.query_proj.weight")
      ? new MultiHeadAttention(parameters.at("cross_attention"), config.heads)
      : null;
    this.crossResidual = this.crossAttention && new Residual(parameters.at("cross_residual"), config);
  }

  encode(states) {
    const inputs = this.selfResidual.before(states);
    const context = this.selfAttention.forward(inputs, this.selfAttention.prepare(inputs));
    return this.pointwise(this.selfResidual.after(states, context));
  }

  // New tokens (T, D) after `past`, the keys and values of those before → (T, D), and the keys and values of all
  decode(states, past, source) {
    const inputs = this.selfResidual.before(states);
    const own = this.selfAttention.prepare(inputs, past ? past.keys.rows : 0);
    const all = past ? { keys: stacked([past.keys, own.keys]), values: stacked([past.values, own.values]) } : own;
    let after = this.selfResidual.after(states, this.selfAttention.forward(inputs, all, true));
    if (this.crossAttention) {
      const context = this.crossAttention.forward(this.crossResidual.before(after), source);
      after = this.crossResidual.after(after, context);
    }
    return [this.pointwise(after), all];
  }

  pointwise(states) {
    return this.ffnResidual.after(states, this.feedForward.forward(this.ffnResidual.before(states)));
  }
}

export class TransformerEncoder {
  constructor(parameters, config) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.positions = new PositionalEmbedding(parameters.at("positions"), config);
    this.layers = parameters.list("layers", (layer) => new Layer(layer, config));
    this.norm = lastNorm(parameters);
  }

  encode(ids) {
    let states = this.positions.forward(this.embedding.forward(ids), 0);
    for (const layer of this.layers) states = layer.encode(states);
    states = this.norm(states);
    return { states, summary: mean(states) };
  }
}

// The layers of an encoder for vectors that are not of words.
export function transformerLayers(parameters, config) {
  const layers = parameters.list("layers", (layer) => new Layer(layer, config));
  return (states) => layers.reduce((before, layer) => layer.encode(before), states);
}

// Its state: { steps, layers }, the keys and values of the tokens so far in each layer.
export class TransformerDecoder {
  constructor(parameters, config) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.positions = new PositionalEmbedding(parameters.at("positions"), config);
    this.layers = parameters.list("layers", (layer) => new Layer(layer, config));
    this.norm = lastNorm(parameters);
    this.output = new Output(parameters.at("output"));
  }

  // What each layer's cross-attention needs of the memory
  prepare(memory) {
    const source = this.layers.map((layer) => layer.crossAttention?.prepare(memory.states));
    return { ...memory, source };
  }

  start() {
    return { steps: 0, layers: this.layers.map(() => null) };
  }

  // Tokens that follow `state` → features (T, D) of what comes after each, and the state after them
  advance(ids, memory, state) {
    let states = this.positions.forward(this.embedding.forward(ids), state.steps);
    const layers = this.layers.map((layer, index) => {
      const [after, all] = layer.decode(states, state.layers[index], memory?.source[index]);
      states = after;
      return all;
    });
    return [this.norm(states), { steps: state.steps + ids.length, layers }];
  }
}
