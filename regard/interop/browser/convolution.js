// Convolutional encoder and decoder (Gehring 2017): layers see neighbours, depth widens the view, attention joins both.
//
// encoder layer   x = x + GLU(conv(x)), centred
// decoder layer   x = x + GLU(conv(x)), causal;  x = x + CrossAttention(x, memory)

import { Matrix, linear, mean, sigmoid, stacked } from "./arrays.js";
import { MultiHeadAttention } from "./attention.js";
import { Embedding, Output, Residual, lastNorm } from "./blocks.js";
import { PositionalEmbedding } from "./positions.js";

// A ⊙ σ(B) of a convolution with twice the channels (Dauphin 2017): (past + T + future, D) → (T, D)
class GatedConvolution {
  constructor(parameters, kernel, causal) {
    this.kernel = kernel;
    this.weight = parameters.matrix("convolution.weight"); // (2D, D·kernel)
    this.bias = parameters.vector("convolution.bias");
    this.past = causal ? kernel - 1 : Math.floor((kernel - 1) / 2);
    this.future = kernel - 1 - this.past;
  }

  forward(padded) {
    const length = padded.rows - this.kernel + 1,
      width = padded.columns;
    const windows = new Matrix(length, width * this.kernel);
    for (let t = 0; t < length; t += 1) {
      for (let k = 0; k < this.kernel; k += 1) {
        padded.row(t + k).forEach((value, channel) => (windows.row(t)[channel * this.kernel + k] = value));
      }
    }
    const channels = linear(windows, this.weight, this.bias);
    const result = new Matrix(length, width);
    for (let t = 0; t < length; t += 1) {
      const row = channels.row(t);
      result.row(t).set(Float32Array.from({ length: width }, (_, i) => row[i] * sigmoid(row[width + i])));
    }
    return result;
  }
}

export class ConvolutionEncoder {
  constructor(parameters, config) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.positions = new PositionalEmbedding(parameters.at("positions"), config);
    this.layers = parameters.list("layers", (layer) => ({
      convolution: new GatedConvolution(layer.at("convolution"), config.kernel, false),
      residual: new Residual(layer.at("residual"), config),
    }));
    this.norm = lastNorm(parameters);
  }

  encode(ids) {
    let states = this.positions.forward(this.embedding.forward(ids), 0);
    for (const { convolution, residual } of this.layers) {
      const zeros = (count) => new Matrix(count, states.columns);
      const padded = stacked([zeros(convolution.past), residual.before(states), zeros(convolution.future)]);
      states = residual.after(states, convolution.forward(padded));
    }
    states = this.norm(states);
    return { states, summary: mean(states) };
  }
}

// Its state: { steps, before }, each layer's last kernel-1 inputs.
export class ConvolutionDecoder {
  constructor(parameters, config) {
    this.embedding = new Embedding(parameters.at("embedding"));
    this.positions = new PositionalEmbedding(parameters.at("positions"), config);
    this.layers = parameters.list("layers", (layer) => ({
      convolution: new GatedConvolution(layer.at("convolution"), config.kernel, true),
      residual: new Residual(layer.at("residual"), config),
      crossAttention: new MultiHeadAttention(layer.at("cross_attention"), config.heads),
      crossResidual: new Residual(layer.at("cross_residual"), config),
    }));
    this.norm = lastNorm(parameters);
    this.output = new Output(parameters.at("output"));
  }

  prepare(memory) {
    return { ...memory, source: this.layers.map(({ crossAttention }) => crossAttention.prepare(memory.states)) };
  }

  start() {
    const { columns } = this.embedding.table;
    return { steps: 0, before: this.layers.map(({ convolution }) => new Matrix(convolution.past, columns)) };
  }

  advance(ids, memory, state) {
    let states = this.positions.forward(this.embedding.forward(ids), state.steps);
    const before = this.layers.map(({ convolution, residual, crossAttention, crossResidual }, index) => {
      const inputs = stacked([state.before[index], residual.before(states)]);
      states = residual.after(states, convolution.forward(inputs));
      const context = crossAttention.forward(crossResidual.before(states), memory.source[index]);
      states = crossResidual.after(states, context);
      return inputs.slice(inputs.rows - convolution.past, inputs.rows);
    });
    return [this.norm(states), { steps: state.steps + ids.length, before }];
  }
}
