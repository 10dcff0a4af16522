// Encoders of images. Their memory is a grid of P cells, from left to right, then down; any decoder attends to it.
//
//     grid      convolutions and residual blocks, 8 × 8 pixels to a cell (Xu 2015, 3.1.1, but trained from scratch)
//     patches   8 × 8 pixels become a vector each, then a Transformer (Dosovitskiy 2021, 3.1)
//
// Features are { side, places }: a row of channels (side², C) for each place.

import { Matrix, add, addToRows, linear, mean } from "./arrays.js";
import { lastNorm, normed } from "./blocks.js";
import { transformerLayers } from "./transformer.js";

// Bytes → pixels in [-1, 1]; and the vectors of the cells' positions and of the word that goes with an image.
class Canvas {
  constructor(parameters) {
    this.positions = parameters.matrix("positions");
    this.words = parameters.has("words") ? parameters.matrix("words") : null;
  }

  features({ pixels }) {
    const side = Math.sqrt(pixels.length / 3);
    return {
      side,
      places: new Matrix(
        side * side,
        3,
        Float32Array.from(pixels, (byte) => byte / 127.5 - 1),
      ),
    };
  }

  addPositions(states, { word }) {
    const placed = add(states, this.positions);
    return this.words ? addToRows(placed, this.words.row(word)) : placed;
  }
}

// A convolution over places: weight (O, C·kernel·kernel)
class Convolution {
  constructor(parameters, kernel, stride, padding) {
    Object.assign(this, { parameters, kernel, stride, padding });
  }

  forward({ side, places }) {
    const { kernel, stride, padding } = this;
    const after = Math.floor((side + 2 * padding - kernel) / stride) + 1;
    const windows = new Matrix(after * after, places.columns * kernel * kernel);
    for (let place = 0; place < windows.rows; place += 1) {
      const top = Math.floor(place / after) * stride - padding,
        left = (place % after) * stride - padding;
      for (let i = 0; i < kernel * kernel; i += 1) {
        const y = top + Math.floor(i / kernel),
          x = left + (i % kernel);
        if (y < 0 || x < 0 || y >= side || x >= side) continue;
        places.row(y * side + x).forEach((value, c) => (windows.row(place)[c * kernel * kernel + i] = value));
      }
    }
    const weight = this.parameters.matrix("weight");
    return { side: after, places: linear(windows, weight, this.parameters.vector("bias")) };
  }
}

// An even kernel that halves the sides centres each output on the four places that it stands for.
function halving(parameters) {
  return new Convolution(parameters, 4, 2, 1);
}

// x + conv(relu(norm(conv(relu(norm(x))))))  (He 2016, full pre-activation); `halved` also halves the sides
class ResidualBlock {
  constructor(parameters, halved = false) {
    this.firstNorm = parameters.at("first_norm.norm");
    this.secondNorm = parameters.at("second_norm.norm");
    this.first = halved ? halving(parameters.at("first")) : new Convolution(parameters.at("first"), 3, 1, 1);
    this.second = new Convolution(parameters.at("second"), 3, 1, 1);
    this.shortcut = halved ? new Convolution(parameters.at("shortcut"), 1, 1, 0) : null;
  }

  forward(features) {
    const change = this.second.forward(
      rectified(this.first.forward(rectified(features, this.firstNorm)), this.secondNorm),
    );
    const kept = this.shortcut ? this.shortcut.forward(pooled(features)) : features;
    return { side: change.side, places: add(change.places, kept.places) };
  }
}

// relu(norm(x)); norm over the channels of each place, or null
function rectified({ side, places }, norm) {
  const states = norm ? normed(places, norm) : places;
  return { side, places: states.map((value) => Math.max(0, value)) };
}

// The mean of each square of two by two places
function pooled({ side, places }) {
  const after = side / 2,
    result = new Matrix(after * after, places.columns);
  for (let place = 0; place < result.rows; place += 1) {
    const corner = 2 * Math.floor(place / after) * side + 2 * (place % after);
    const four = [corner, corner + 1, corner + side, corner + side + 1].map((one) => places.row(one));
    result.row(place).forEach((_, c) => {
      result.row(place)[c] = (four[0][c] + four[1][c] + four[2][c] + four[3][c]) / 4;
    });
  }
  return { side: after, places: result };
}

export class GridEncoder {
  constructor(parameters) {
    this.canvas = new Canvas(parameters.at("canvas"));
    this.first = halving(parameters.at("first"));
    this.second = halving(parameters.at("second"));
    this.near = new ResidualBlock(parameters.at("near"));
    this.wide = new ResidualBlock(parameters.at("wide"), true);
    this.layers = parameters.list("layers", (layer) => new ResidualBlock(layer));
    this.norm = parameters.at("norm.norm");
  }

  encode(image) {
    let features = this.second.forward(rectified(this.first.forward(this.canvas.features(image)), null));
    features = this.wide.forward(this.near.forward(features));
    features = { side: features.side, places: this.canvas.addPositions(features.places, image) };
    for (const layer of this.layers) features = layer.forward(features);
    const states = normed(features.places, this.norm);
    return { states, summary: mean(states) };
  }
}

// What turns pixels into a vector a cell: three convolutions (Xiao 2021, section 3), or one matrix for a cell's pixels.
function stemOf(parameters, cell) {
  if (parameters.has("patch_proj.weight")) {
    const patches = new Convolution(parameters.at("patch_proj"), cell, cell, 0);
    return (features) => patches.forward(features).places;
  }
  const [first, second, third] = ["first", "second", "third"].map((name) => halving(parameters.at(name)));
  const [firstNorm, secondNorm] = ["first_norm.norm", "second_norm.norm"].map((name) => parameters.at(name));
  return (features) => {
    const near = rectified(first.forward(features), firstNorm);
    return third.forward(rectified(second.forward(near), secondNorm)).places;
  };
}

export class PatchEncoder {
  constructor(parameters, config) {
    this.canvas = new Canvas(parameters.at("canvas"));
    this.stem = stemOf(parameters.at("stem"), config.cell_side);
    this.layers = transformerLayers(parameters, { ...config, positions: "none" });
    this.norm = lastNorm(parameters);
  }

  encode(image) {
    const states = this.canvas.addPositions(this.stem(this.canvas.features(image)), image);
    const encoded = this.norm(this.layers(states));
    return { states: encoded, summary: mean(encoded) };
  }
}
