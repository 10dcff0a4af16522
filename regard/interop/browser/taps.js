// Taps: named points where attention weights may be recorded or replaced; the identity otherwise.
// Weights are a list of heads, each a matrix (queries, keys).

import { Matrix } from "./arrays.js";

export class Watch {
  constructor() {
    this.recorded = null;
    this.replacements = new Map();
  }

  // What `compute` returns, and the weights of every tap by name, the steps of a loop one below the other.
  record(compute) {
    this.recorded = new Map();
    try {
      const result = compute();
      const weights = new Map([...this.recorded].map(([name, calls]) => [name, oneBelowTheOther(calls)]));
      return [result, weights];
    } finally {
      this.recorded = null;
    }
  }

  observe(name, weights) {
    const replace = this.replacements.get(name);
    const seen = replace ? weights.map(replace) : weights;
    if (this.recorded) this.recorded.set(name, [...(this.recorded.get(name) ?? []), seen]);
    return seen;
  }
}

export class Tap {
  constructor(name, watch) {
    this.name = name;
    this.watch = watch;
  }

  see(weights) {
    return this.watch.observe(this.name, weights);
  }
}

// Keys that an early step did not have yet had no weight in it.
function oneBelowTheOther(calls) {
  const keys = Math.max(...calls.map((heads) => heads[0].columns));
  return calls[0].map((_, head) => {
    const rows = calls.flatMap((heads) => Array.from({ length: heads[head].rows }, (_, row) => heads[head].row(row)));
    const result = new Matrix(rows.length, keys);
    rows.forEach((row, place) => result.row(place).set(row));
    return result;
  });
}

// By tap, what `silence` and `uniform` ask for: names of attentions, or of one head (`….2`). known: their heads by name
export function replacements(known, { silence = [], uniform = [] }) {
  const result = new Map();
  for (const [change, names] of [
    [evenly, uniform],
    [nothing, silence],
  ]) {
    for (const name of names) {
      const [attention, head] = known.includes(name) ? [name, null] : splitHead(name);
      const before = result.get(`${attention}.weights`) ?? ((weights) => weights);
      const replace = (weights, index) =>
        head === null || head === index ? change(before(weights, index)) : before(weights, index);
      result.set(`${attention}.weights`, replace);
    }
  }
  return result;
}

function splitHead(name) {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, dot), Number(name.slice(dot + 1))];
}

function nothing(weights) {
  return weights.map(() => 0);
}

// Equal weights for all keys that may be attended to.
function evenly(weights) {
  const result = new Matrix(weights.rows, weights.columns);
  for (let row = 0; row < weights.rows; row += 1) {
    const count = weights.row(row).filter((weight) => weight > 0).length;
    weights.row(row).forEach((weight, key) => (result.row(row)[key] = weight > 0 ? 1 / count : 0));
  }
  return result;
}
