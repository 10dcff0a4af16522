// Matrices of float32 numbers, row by row, and the few operations that all layers are made of.
// Sums are kept in double precision, so that results are those of torch to the last digits.

export class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  row(index) {
    return this.data.subarray(index * this.columns, (index + 1) * this.columns);
  }

  slice(from, to) {
    return new Matrix(to - from, this.columns, this.data.subarray(from * this.columns, to * this.columns));
  }

  map(change) {
    return new Matrix(this.rows, this.columns, this.data.map(change));
  }

  lists() {
    return Array.from({ length: this.rows }, (_, row) => [...this.row(row)]);
  }
}

// y = x Wᵀ + b: (T, in), weight (out, in), bias (out) or null → (T, out)
export function linear(inputs, weight, bias = null) {
  const { rows, columns } = inputs,
    outputs = weight.rows;
  const result = new Matrix(rows, outputs);
  for (let output = 0; output < outputs; output += 1) {
    const from = output * columns,
      start = bias === null ? 0 : bias[output];
    for (let row = 0; row < rows; row += 1) {
      result.data[row * outputs + output] = start + dot(inputs.data, row * columns, weight.data, from, columns);
    }
  }
  return result;
}

// Σ_i a[i] b[i] over `length` numbers of each, four sums at a time: no addition waits for the one before it.
export function dot(a, aStart, b, bStart, length) {
  let one = 0,
    two = 0,
    three = 0,
    four = 0,
    i = 0;
  for (; i + 3 < length; i += 4) {
    one += a[aStart + i] * b[bStart + i];
    two += a[aStart + i + 1] * b[bStart + i + 1];
    three += a[aStart + i + 2] * b[bStart + i + 2];
    four += a[aStart + i + 3] * b[bStart + i + 3];
  }
  for (; i < length; i += 1) one += a[aStart + i] * b[bStart + i];
  return one + two + three + four;
}

// (T, S) · (S, D) → (T, D)
export function product(weights, values) {
  const result = new Matrix(weights.rows, values.columns);
  for (let row = 0; row < weights.rows; row += 1) {
    const sum = new Float64Array(values.columns);
    for (let key = 0; key < values.rows; key += 1) {
      const weight = weights.data[row * weights.columns + key];
      if (weight === 0) continue;
      const from = key * values.columns;
      for (let column = 0; column < sum.length; column += 1) sum[column] += weight * values.data[from + column];
    }
    result.row(row).set(sum);
  }
  return result;
}

export function add(one, other) {
  return new Matrix(
    one.rows,
    one.columns,
    one.data.map((value, i) => value + other.data[i]),
  );
}

// The same vector added to every row.
export function addToRows(matrix, vector) {
  return new Matrix(
    matrix.rows,
    matrix.columns,
    matrix.data.map((value, i) => value + vector[i % matrix.columns]),
  );
}

// One below the other.
export function stacked(matrices) {
  const result = new Matrix(
    matrices.reduce((sum, { rows }) => sum + rows, 0),
    matrices[0].columns,
  );
  let place = 0;
  for (const { data } of matrices) {
    result.data.set(data, place);
    place += data.length;
  }
  return result;
}

// Side by side.
export function joined(matrices) {
  const { rows } = matrices[0];
  const result = new Matrix(
    rows,
    matrices.reduce((sum, { columns }) => sum + columns, 0),
  );
  for (let row = 0; row < rows; row += 1) {
    let place = 0;
    for (const matrix of matrices) {
      result.row(row).set(matrix.row(row), place);
      place += matrix.columns;
    }
  }
  return result;
}

export function mean(matrix) {
  const sum = new Float64Array(matrix.columns);
  for (let row = 0; row < matrix.rows; row += 1) matrix.row(row).forEach((value, i) => (sum[i] += value));
  return new Matrix(
    1,
    matrix.columns,
    Float32Array.from(sum, (value) => value / matrix.rows),
  );
}

// (x - mean) / √(variance + ε) · weight + bias of each row
export function layerNorm(matrix, weight, bias, epsilon = 1e-5) {
  const { rows, columns } = matrix,
    result = new Matrix(rows, columns);
  for (let row = 0; row < rows; row += 1) {
    const values = matrix.row(row),
      normed = result.row(row);
    let sum = 0,
      squares = 0;
    for (const value of values) sum += value;
    const average = sum / columns;
    for (const value of values) squares += (value - average) ** 2;
    const scale = 1 / Math.sqrt(squares / columns + epsilon);
    for (let i = 0; i < columns; i += 1) normed[i] = (values[i] - average) * scale * weight[i] + bias[i];
  }
  return result;
}

export function logSoftmax(logits) {
  let most = -Infinity,
    sum = 0;
  for (const value of logits) most = Math.max(most, value);
  for (const value of logits) sum += Math.exp(value - most);
  const total = most + Math.log(sum);
  return logits.map((value) => value - total);
}

export function sigmoid(value) {
  return 1 / (1 + Math.exp(-value));
}
