// Greedy and beam search for one sentence, by the rules of regard's own beam search:
//
// - A step considers the 2N most probable continuations. Those that end in EOS and are among the first N are finished;
//   the N best others live on.
// - score = log_prob / length^alpha, length counting EOS; it ranks finished hypotheses only.
// - The search is done when N have finished and the worst that would be returned scores no less than the best live one
//   now; when no live one can still beat it at all; or at the limit, where live ones fill up what is missing.
//
// With one beam this is greedy search.

import { logSoftmax } from "./arrays.js";
import { BOS, EOS, PAD } from "./tokenizer.js";

// The steps of a search: yields the live hypotheses after each, and returns the best finished ones, best first.
// first: BOS and what is forced after it. limit: most tokens to generate, EOS included
export function* searchSteps(model, { memory, state }, first, limit, { beams, best, lengthPenalty, texts }) {
  const [logits, after] = model.step(first, memory, state);
  const finished = [];
  const start = { ids: [], total: 0, logProbs: [], next: nextLogProbs(logits, texts), state: after, parent: null };
  let live = [start];
  for (let length = 1; ; length += 1) {
    const going = [];
    continuations(live, 2 * beams).forEach((one, rank) => {
      if (one.ids.at(-1) !== EOS) going.push(one);
      else if (rank < beams) finished.push({ ...one, finished: true, score: one.total / length ** lengthPenalty });
    });
    live = going.slice(0, beams);
    yield live;
    const score = (divisor) => (live.length ? live[0].total / divisor ** lengthPenalty : -Infinity);
    finished.sort((one, other) => other.score - one.score);
    const worst = finished.length < best ? -Infinity : finished[best - 1].score;
    const enough = finished.length >= beams && worst >= score(length);
    if (enough || worst >= score(limit) || length >= limit) return ranked(finished, live, length, best, lengthPenalty);
    for (const one of live) {
      const [scores, next] = model.step(one.ids.slice(-1), memory, one.state);
      Object.assign(one, { next: nextLogProbs(scores, texts), state: next });
    }
  }
}

// All at once
export function search(model, encoded, first, limit, settings) {
  const steps = searchSteps(model, encoded, first, limit, settings);
  for (;;) {
    const { value, done } = steps.next();
    if (done) return value;
  }
}

// Log-probabilities of the token after the last; PAD, BOS and what is no text are never generated: their mass is lost.
function nextLogProbs(logits, texts) {
  const logProbs = logSoftmax(logits.row(logits.rows - 1));
  logProbs[PAD] = logProbs[BOS] = -Infinity;
  logProbs.fill(-Infinity, texts);
  return logProbs;
}

function continuations(live, count) {
  const all = live.flatMap((parent) =>
    mostProbable(parent.next, count).map((id) => ({ parent, id, total: parent.total + parent.next[id] })),
  );
  return all
    .filter(({ total }) => total > -Infinity)
    .sort((one, other) => other.total - one.total)
    .slice(0, count)
    .map(({ parent, id, total }) => ({
      ids: [...parent.ids, id],
      logProbs: [...parent.logProbs, parent.next[id]],
      total,
      state: parent.state,
      parent,
    }));
}

// The ids of the `count` highest numbers, highest first
export function mostProbable(logProbs, count) {
  const best = [];
  for (let id = 0; id < logProbs.length; id += 1) {
    if (best.length === count && logProbs[id] <= logProbs[best.at(-1)]) continue;
    let place = best.length;
    while (place > 0 && logProbs[best[place - 1]] < logProbs[id]) place -= 1;
    best.splice(place, 0, id);
    best.length = Math.min(best.length, count);
  }
  return best;
}

function ranked(finished, live, length, best, lengthPenalty) {
  const open = live.map((one) => ({ ...one, finished: false, score: one.total / length ** lengthPenalty }));
  return [...finished, ...(finished.length < best ? open : [])].slice(0, best);
}
