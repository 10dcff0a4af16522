// What the viewer shows of a source and its output: the records of regard's analysis/view.py, made in the browser.

import { Matrix, logSoftmax, product } from "./arrays.js";
import { mostProbable } from "./search.js";
import { BOS, EOS, PAD } from "./tokenizer.js";

const ALTERNATIVES = 8; // at each position
const MARKS = ["<pad>", "<s>", "</s>"];

// forced: { source, encoderInput, targetIn, targetOut, sourceTokens, given }; tokens: of ids of the output
export function traceRecord(model, config, forced, tokens) {
  const [logits, weights] = model.watch.record(() => {
    const { memory, state } = model.encode(forced.encoderInput);
    return model.step(forced.targetIn, memory, state)[0];
  });
  const sides = {
    source_tokens: forced.sourceTokens,
    input_tokens: tokens(forced.targetIn),
    output_tokens: tokens(forced.targetOut),
  };
  const attentions = [...weights].map(([name, heads]) => mapRecord(name.replace(/\.weights$/, ""), heads, sides));
  const maps = [...attentions, ...rollouts(weights, sides), ...fields(config, sides)];
  const lookingAt = attentions.map(({ name }) => name);
  const toSource = lookingAt.filter(
    (name) => config.encoder === "none" || !(name.startsWith("encoder.") || name.includes("self_attention")),
  );
  const text = plainText(sides.output_tokens.slice(forced.given)).trim();
  return {
    kind: "trace",
    title: `${plainText(sides.source_tokens)} → ${plainText(sides.output_tokens)}`,
    ...sides,
    source_words: [],
    maps,
    first: maps.length ? (toSource.at(-1) ?? lookingAt.at(-1)) : null,
    given: forced.given,
    predictions: forced.targetOut.map((id, t) => prediction(logits.row(t), id, tokens)),
    text,
    changes: { silence: [], uniform: [], hide: [] },
    image: null,
  };
}

function plainText(tokens) {
  return tokens.filter((token) => token !== "<s>" && token !== "</s>").join("");
}

function prediction(logits, id, tokens) {
  const logProbs = logSoftmax(logits);
  const entropy = logProbs.reduce((sum, value) => sum - Math.exp(value) * value, 0);
  const own = logProbs[id];
  logProbs[PAD] = logProbs[BOS] = -Infinity;
  const best = mostProbable(logProbs, Math.min(ALTERNATIVES, logProbs.length - 2));
  const names = tokens(best);
  const alternatives = best.map((rival, i) => ({ id: rival, token: names[i], log_prob: rounded(logProbs[rival]) }));
  return { id, log_prob: rounded(own), entropy: rounded(entropy), alternatives };
}

function rounded(value) {
  return Math.round(value * 1e4) / 1e4;
}

// --- maps ---

function mapRecord(name, heads, sides, kind = "attention", known = null) {
  const [rowSide, columnSide] = known ?? sidesOf(name, heads[0].columns, sides);
  const tokens = {
    source: sides.source_tokens,
    input: sides.input_tokens,
    output: sides.output_tokens,
    both: [...sides.source_tokens, ...sides.input_tokens],
  };
  const weights = heads.map((head) => head.lists().map((row) => row.map(rounded)));
  const rows = tokens[rowSide].slice(-heads[0].rows),
    columns = tokens[columnSide].slice(-heads[0].columns);
  return { name, kind, row_side: rowSide, column_side: columnSide, rows, columns, weights };
}

function sidesOf(name, keys, { source_tokens: source, input_tokens: input }) {
  if (name.startsWith("encoder.")) return ["source", "source"];
  const own = name.includes("self_attention") || name.includes("convolution");
  if (keys === source.length && !own) return ["output", "source"];
  return keys > input.length ? ["both", "both"] : ["input", "input"];
}

// Attention rollout (Abnar & Zuidema 2020): R_l = (½ A_l + ½ I) R_(l-1); of a decoder that attends to an encoder
// C_l = ½ ((½ A_l + ½ I) C_(l-1)) + ½ X_l R.
function rollouts(weights, sides) {
  const layers = (side, kind) =>
    [...weights]
      .filter(([name]) => name.startsWith(side) && name.endsWith(`${kind}.weights`))
      .map(([, heads]) => heads);
  const encoder = layers("encoder.", "self_attention"),
    decoder = layers("decoder.", "self_attention"),
    cross = layers("decoder.", "cross_attention");
  const result = [];
  const memory = encoder.length ? encoder.reduce(throughLayer, identity(encoder[0][0].columns)) : null;
  if (memory) result.push(mapRecord("encoder.rollout", [memory], sides, "rollout", ["source", "source"]));
  if (decoder.length && !cross.length) {
    const keys = decoder[0][0].columns,
      known = sidesOf("decoder.self_attention", keys, sides);
    result.push(mapRecord("decoder.rollout", [decoder.reduce(throughLayer, identity(keys))], sides, "rollout", known));
  } else if (decoder.length && memory) {
    const start = new Matrix(decoder[0][0].rows, memory.columns);
    const reached = decoder.reduce(
      (before, heads, layer) => halfway(throughLayer(before, heads), product(meanOf(cross[layer]), memory)),
      start,
    );
    result.push(mapRecord("decoder.rollout", [reached], sides, "rollout", ["output", "source"]));
  }
  return result;
}

function throughLayer(rollout, heads) {
  // of a language model the weights' rows are the last of the columns' positions
  return halfway(rollout, product(meanOf(heads), rollout));
}

function halfway(one, other) {
  return new Matrix(
    one.rows,
    one.columns,
    one.data.map((value, i) => (value + other.data[i]) / 2),
  );
}

function meanOf(heads) {
  return new Matrix(
    heads[0].rows,
    heads[0].columns,
    heads[0].data.map((_, i) => heads.reduce((sum, { data }) => sum + data[i], 0) / heads.length),
  );
}

function identity(size) {
  const result = new Matrix(size, size);
  for (let i = 0; i < size; i += 1) result.row(i)[i] = 1;
  return result;
}

// The receptive field of convolutions: layer l sees the positions t - l·past … t + l·future of its own tokens.
function fields(config, sides) {
  const result = [];
  for (const [side, depth, causal] of [
    ["encoder", config.encoder_depth ?? config.depth, false],
    ["decoder", config.decoder_depth ?? config.depth, true],
  ]) {
    if (config[side] !== "convolution") continue;
    const past = causal ? config.kernel - 1 : Math.floor((config.kernel - 1) / 2);
    const future = config.kernel - 1 - past;
    const length = (side === "encoder" ? sides.source_tokens : sides.input_tokens).length;
    for (let layer = 0; layer < depth; layer += 1) {
      const field = new Matrix(length, length),
        reach = layer + 1;
      for (let t = 0; t < length; t += 1) {
        for (let s = 0; s < length; s += 1) field.row(t)[s] = s >= t - reach * past && s <= t + reach * future ? 1 : 0;
      }
      const known = side === "encoder" ? ["source", "source"] : ["input", "input"];
      result.push(mapRecord(`${side}.layers.${layer}.convolution`, [field], sides, "field", known));
    }
  }
  return result;
}

// --- words ---

// The indices of the tokens of each word. White space before or after a token separates words, a mark is alone.
export function wordGroups(tokens) {
  const groups = [];
  tokens.forEach((token, index) => {
    const before = index ? tokens[index - 1] : " ";
    const separate =
      MARKS.includes(token) || MARKS.includes(before) || /^\s/u.test(token) || /\s$/u.test(before) || before === "";
    if (groups.length && (!separate || !token.trim())) groups.at(-1).push(index);
    else groups.push([index]);
  });
  return groups;
}

// The words of a source with their places among the tokens that are left, and the tokens without those that are hidden
export function erased(ids, tokens, hide) {
  let place = 0;
  const left = [];
  const words = wordGroups(tokens).map((group, index) => {
    const hidden = hide.includes(index);
    const text = group
      .map((token) => tokens[token])
      .join("")
      .trim();
    const places = hidden ? [] : group.map((_, i) => place + i);
    place += places.length;
    if (!hidden) left.push(...group.map((token) => ids[token]));
    return { text, tokens: places, hidden };
  });
  return { words, ids: left };
}
