// How a model without recurrence knows the order: vectors joined to embeddings, rotations and slopes in attention.

import { Matrix, add, joined, linear } from "./arrays.js";

// PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(same)  (Vaswani 2017, 3.5)
export function sinusoid(start, count, width) {
  const result = new Matrix(count, width);
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const angle = angleOf(start + row, Math.floor(column / 2), width);
      result.row(row)[column] = column % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return result;
}

// The same half by half: all sines, then all cosines.
function halves(start, count, width) {
  const pairs = sinusoid(start, count, width),
    result = new Matrix(count, width);
  const half = Math.ceil(width / 2);
  for (let row = 0; row < count; row += 1) {
    pairs.row(row).forEach((value, i) => (result.row(row)[(i % 2) * half + Math.floor(i / 2)] = value));
  }
  return result;
}

// In float32, as the model was trained.
function angleOf(position, pair, width) {
  return Math.fround(position * Math.fround(Math.exp(Math.fround((pair * -2 * Math.log(10000)) / width))));
}

// Each pair (2i, 2i+1) of each head rotated by p / 10000^(2i/K)  (Su 2021, 3.2)
export function rotate(vectors, heads, start) {
  const width = vectors.columns / heads,
    result = new Matrix(vectors.rows, vectors.columns);
  for (let row = 0; row < vectors.rows; row += 1) {
    const values = vectors.row(row),
      rotated = result.row(row);
    for (let i = 0; i < values.length; i += 2) {
      const angle = angleOf(start + row, (i % width) / 2, width);
      const cos = Math.fround(Math.cos(angle)),
        sin = Math.fround(Math.sin(angle));
      rotated[i] = values[i] * cos - values[i + 1] * sin;
      rotated[i + 1] = values[i] * sin + values[i + 1] * cos;
    }
  }
  return result;
}

// The penalty of head h for each step of distance: 2^(-8(h+1)/H)  (Press 2022)
export function alibiSlope(head, heads) {
  return 2 ** ((-8 * (head + 1)) / heads);
}

// Joins a vector for each position to the embeddings: added, multiplied, or concatenated and resized.
export class PositionalEmbedding {
  constructor(parameters, { positions, position_combine: combine }) {
    this.kind = positions;
    this.combine = combine;
    this.parameters = parameters;
  }

  forward(embeddings, start) {
    const { rows, columns } = embeddings;
    const vectors = this.vectors(start, rows, columns);
    if (vectors === null) return embeddings;
    if (this.combine === "add") return add(embeddings, vectors);
    if (this.combine === "multiply") {
      return new Matrix(
        rows,
        columns,
        embeddings.data.map((value, i) => value * vectors.data[i]),
      );
    }
    const resize = this.parameters.at("resize_proj");
    return linear(joined([embeddings, vectors]), resize.matrix("weight"), resize.vector("bias"));
  }

  vectors(start, count, width) {
    if (this.kind === "learned") return this.parameters.matrix("table").slice(start, start + count);
    if (this.kind === "sinusoidal") return sinusoid(start, count, width);
    return this.kind === "sinusoidal-halves" ? halves(start, count, width) : null;
  }
}
