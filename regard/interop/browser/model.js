// What the rest knows of any model: it encodes a source, starts a state, and advances it by tokens to logits.

import { ConvolutionDecoder, ConvolutionEncoder } from "./convolution.js";
import { Pointer } from "./pointer.js";
import { RecurrentDecoder, RecurrentEncoder, RecurrentReader } from "./recurrent.js";
import { TransformerDecoder, TransformerEncoder } from "./transformer.js";
import { GridEncoder, PatchEncoder } from "./vision.js";

const ENCODERS = {
  transformer: TransformerEncoder,
  rnn: RecurrentEncoder,
  convolution: ConvolutionEncoder,
  grid: GridEncoder,
  patches: PatchEncoder,
};
const DECODERS = { transformer: TransformerDecoder, rnn: RecurrentDecoder, convolution: ConvolutionDecoder };

// config: the [model] section of the recipe
export function buildModel(config, parameters) {
  return config.encoder === "none" ? new LanguageModel(config, parameters) : new Seq2Seq(config, parameters);
}

class Seq2Seq {
  constructor(config, parameters) {
    this.watch = parameters.watch;
    this.encoder = new ENCODERS[config.encoder](parameters.at("encoder"), config);
    this.decoder = new DECODERS[config.decoder](parameters.at("decoder"), config);
    this.pointer = config.pointer ? new Pointer(parameters.at("pointer")) : null;
  }

  // The source with the end of the sentence, or an image → the memory and the state before the first token
  encode(source) {
    const memory = { ...this.decoder.prepare(this.encoder.encode(source)), ids: source };
    return { memory, state: this.decoder.start(memory) };
  }

  // Tokens that follow `state` → logits (T, V) of what comes after each, and the state after them
  step(ids, memory, state) {
    const [features, after] = this.decoder.advance(ids, memory, state);
    const logits = this.decoder.output.forward(features);
    return [this.pointer ? this.pointer.mix(logits, features, memory) : logits, after];
  }
}

// A decoder that continues its source: its state holds all that it needs of it.
class LanguageModel {
  constructor(config, parameters) {
    this.watch = parameters.watch;
    const Reader = config.decoder === "rnn" ? RecurrentReader : TransformerDecoder;
    this.decoder = new Reader(parameters.at("decoder"), config);
  }

  encode(source) {
    const [, state] = this.decoder.advance(source, null, this.decoder.start());
    return { memory: null, state };
  }

  step(ids, memory, state) {
    const [features, after] = this.decoder.advance(ids, memory, state);
    return [this.decoder.output.forward(features), after];
  }
}
