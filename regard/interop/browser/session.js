// A model with its tokenizers: from what a reader gives to the records that the viewer draws.

import { EOS, BOS, makeTokenizer } from "./tokenizer.js";
import { buildModel } from "./model.js";
import { parametersOf } from "./parameters.js";
import { search, searchSteps } from "./search.js";
import { replacements } from "./taps.js";
import { erased, traceRecord } from "./view.js";

const GREY = 127; // of a covered cell
const NEW_TOKENS = 200; // that a language model generates, where no limit is set

// facts: { model, search, task, name, source, target, index, attentions, words }; buffer: the weights
export function openSession(facts, buffer) {
  const model = buildModel(facts.model, parametersOf(facts.index, buffer));
  const target = makeTokenizer(facts.target);
  const source = facts.source ? makeTokenizer(facts.source) : target;
  const seen = facts.task === "captioning",
    continues = facts.task === "continuation";
  return { facts, model, source, target, read, searched, steps, view };

  // text, or { pixels, word, uri } → what the encoder reads, and what begins the output
  function read(input, { hide = [], prefix = [] } = {}) {
    if (seen) return { encoderInput: covered(input, hide), first: [BOS, ...prefix], length: cells(input), words: [] };
    const ids = source.encode(input);
    const { words, ids: left } = erased(ids, source.tokens(ids), hide);
    if (continues) return { encoderInput: [EOS], first: [BOS, ...left, ...prefix], length: 0, words, given: left };
    return { encoderInput: [...left, EOS], first: [BOS, ...prefix], length: left.length, words, source: left };
  }

  // Most tokens to generate; a problem where the model's positions end before the source or the prefix does
  function limitOf({ encoderInput, first, length }) {
    const { max_source: mostSource, max_target: mostTarget, max_total: mostTotal } = facts;
    const limits = [facts.search.max_tokens ?? (continues ? NEW_TOKENS : 2 * length + 50)];
    if (mostSource && !seen && encoderInput.length > mostSource) throw new TooLong(encoderInput.length, mostSource);
    if (mostTarget) limits.push(mostTarget - first.length + 1);
    if (mostTotal) limits.push(mostTotal - encoderInput.length - first.length + 1);
    if (Math.min(...limits) < 1) throw new TooLong(encoderInput.length + first.length, mostTotal ?? mostTarget);
    return Math.min(...limits);
  }

  function changing(changes, compute) {
    model.watch.replacements = replacements(facts.attentions, changes);
    try {
      return compute();
    } finally {
      model.watch.replacements = new Map();
    }
  }

  function settings({ beams = facts.search.beams, best = facts.search.n_best } = {}) {
    return { beams: Math.max(beams, best), best, lengthPenalty: facts.search.length_penalty, texts: target.texts };
  }

  // The best hypotheses: { ids (of the output, the prefix included), finished, score, total, text }
  function searched(input, changes = {}, wanted = {}) {
    const request = read(input, changes),
      prefix = changes.prefix ?? [];
    if (prefix.at(-1) === EOS) return [{ ...noSearch(prefix), text: target.decode(prefix) }];
    return changing(changes, () => {
      const found = search(
        model,
        model.encode(request.encoderInput),
        request.first,
        limitOf(request),
        settings(wanted),
      );
      return found.map((one) => outputOf(one, prefix));
    });
  }

  // The live hypotheses after each step, and at the end the best ones
  function* steps(input, wanted = {}) {
    const request = read(input);
    const found = searchSteps(
      model,
      model.encode(request.encoderInput),
      request.first,
      limitOf(request),
      settings(wanted),
    );
    for (;;) {
      const { value, done } = found.next();
      if (done) return value.map((one) => outputOf(one, []));
      if (value.length) yield target.decode(value[0].ids);
    }
  }

  function outputOf(one, prefix) {
    const ids = [...prefix, ...(one.finished ? one.ids.slice(0, -1) : one.ids)];
    return { ids, finished: one.finished, score: one.score, total: one.total, text: target.decode(ids) };
  }

  // The record of a trace, as `regard.load(run).view(text)` gives it
  function view(input, changes = {}, outputs = searched(input, changes)) {
    const request = read(input, changes),
      [output] = outputs;
    const before = request.given ?? [];
    const ids = [...before, ...output.ids];
    const targetIn = output.finished ? [BOS, ...ids] : [BOS, ...ids.slice(0, -1)];
    const targetOut = output.finished ? [...ids, EOS] : ids;
    const sourceTokens = seen ? cellNames(input) : source.tokens(continues ? [EOS] : request.encoderInput);
    const forced = { encoderInput: request.encoderInput, targetIn, targetOut, sourceTokens, given: before.length };
    const record = changing(changes, () => traceRecord(model, facts.model, forced, target.tokens));
    const { silence = [], uniform = [], hide = [] } = changes;
    return {
      ...record,
      ...(seen ? { title: record.text, image: { uri: input.uri, side: Math.sqrt(cells(input)), hidden: hide } } : {}),
      source: seen ? "" : input,
      model: facts.name,
      task: facts.task,
      source_words: request.words,
      text: output.text,
      finished: output.finished,
      score: output.score,
      outputs: outputs.map(({ text, score, total, finished }) => ({ text, score, log_prob: total, finished })),
      changes: { silence, uniform, hide },
    };
  }

  function cells({ pixels }) {
    return pixels.length / 3 / facts.model.cell_side ** 2;
  }

  function cellNames(image) {
    const side = Math.sqrt(cells(image));
    return Array.from({ length: side * side }, (_, cell) => `${Math.floor(cell / side)},${cell % side}`);
  }

  function covered(image, hide) {
    const pixels = image.pixels.slice(),
      cell = facts.model.cell_side,
      side = Math.sqrt(pixels.length / 3);
    for (const place of hide) {
      const top = Math.floor((place * cell) / side) * cell,
        left = (place * cell) % side;
      for (let y = top; y < top + cell; y += 1) pixels.fill(GREY, 3 * (y * side + left), 3 * (y * side + left + cell));
    }
    return { ...image, pixels };
  }
}

// Of an output whose end was chosen by hand
function noSearch(prefix) {
  return { ids: prefix.slice(0, -1), finished: true, score: null, total: 0 };
}

export class TooLong extends Error {
  constructor(length, most) {
    super(`${length} tokens, but the model has positions for ${most}; make it shorter`);
  }
}
