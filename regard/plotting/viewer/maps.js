// Maps of attention: one head or the mean over heads, entropy, and the token that a row or a column belongs to.

// weights[t][s] of one head, or of the mean where head is null
export function weightsOf(map, head) {
  if (head !== null) return map.weights[head];
  const count = map.weights.length;
  if (count === 1) return map.weights[0];
  return map.weights[0].map((row, t) =>
    row.map((_, s) => map.weights.reduce((sum, one) => sum + one[t][s], 0) / count),
  );
}

// In nats: 0 where all weight is on one key, log S where it is spread evenly over S keys.
export function entropy(row) {
  return row.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log(weight) : sum), 0);
}

export function mapNamed(record, name) {
  return record.maps.find((map) => map.name === name) ?? record.maps.find((map) => map.name === record.first) ?? null;
}

// A head's name as the command line and `Pipeline.changed` take it.
export function headName(map, head) {
  return head === null ? map.name : `${map.name}.${head}`;
}

// The row or column of a map that shows this token of a side; null where none does.
export function placeOf(side, shown, index, record) {
  const shift = { both: { source: 0, input: record.source_tokens.length, output: record.source_tokens.length + 1 } };
  let place = null;
  if (shown === side) place = index;
  else if (shown === "both") place = index + shift.both[side];
  else if (shown === "input" && side === "output") place = index + 1; // the next step reads it
  return place;
}

// The token of a side that a place in a map is; null where it is of another side.
export function tokenAt(side, shown, place, record) {
  if (place === null) return null;
  const sources = record.source_tokens.length;
  let index = null;
  if (shown === side) index = place;
  else if (shown === "both") index = side === "source" ? place : place - sources - (side === "output" ? 1 : 0);
  else if (shown === "input" && side === "output") index = place - 1;
  const count = { source: sources, input: record.input_tokens.length, output: record.output_tokens.length }[side];
  return index !== null && index >= 0 && index < count ? index : null;
}

// What is pointed at: a row, a column, both or neither. All figures of a view listen.
export function selection() {
  const listeners = [];
  let now = { row: null, column: null };
  return {
    get: () => now,
    set(row, column) {
      if (row === now.row && column === now.column) return;
      now = { row, column };
      for (const listener of listeners) listener(now);
    },
    listen: (listener) => listeners.push(listener),
  };
}
