// The weights of a model by name, as a module of torch names them, and its taps.
//
// A file holds the parameters one behind the other: float32, or a matrix as int8 with a float32 scale a row,
// weight = scale_row · integer. Rows become float32 when they are first asked for.

import { Matrix } from "./arrays.js";
import { Tap, Watch } from "./taps.js";

// index: by name { shape, type: "float32" | "int8", start } in bytes of the buffer; tied weights have one start
export function parametersOf(index, buffer) {
  return new Parameters({ index, buffer, read: new Map(), watch: new Watch() }, "");
}

class Parameters {
  constructor(file, path) {
    this.file = file;
    this.path = path;
  }

  at(name) {
    return new Parameters(this.file, `${this.path}${name}.`);
  }

  has(name) {
    return `${this.path}${name}` in this.file.index;
  }

  // The layers of a list: 0, 1, … as many as there are.
  list(name, make) {
    const inside = (number) => `${this.path}${name}.${number}.`;
    const layers = [];
    const known = Object.keys(this.file.index);
    while (known.some((key) => key.startsWith(inside(layers.length)))) {
      layers.push(make(this.at(`${name}.${layers.length}`)));
    }
    return layers;
  }

  // (rows, all other dimensions together)
  matrix(name) {
    const { shape } = this.file.index[`${this.path}${name}`];
    return new Matrix(shape[0], this.numbers(name).length / shape[0], this.numbers(name));
  }

  // A vector or a scalar; null where the model has none.
  vector(name) {
    return this.has(name) ? this.numbers(name) : null;
  }

  numbers(name) {
    const { index, buffer, read } = this.file;
    const { shape, type, start } = index[`${this.path}${name}`];
    if (!read.has(start)) {
      const count = shape.reduce((size, length) => size * length, 1);
      const numbers =
        type === "int8" ? scaledRows(buffer, start, shape[0], count) : new Float32Array(buffer, start, count);
      read.set(start, numbers);
    }
    return read.get(start);
  }

  tap(name) {
    return new Tap(`${this.path}${name}`, this.file.watch);
  }

  get watch() {
    return this.file.watch;
  }
}

function scaledRows(buffer, start, rows, count) {
  const scales = new Float32Array(buffer, start, rows);
  const integers = new Int8Array(buffer, start + 4 * rows, count);
  const columns = count / rows;
  return Float32Array.from(integers, (value, i) => value * scales[Math.floor(i / columns)]);
}
