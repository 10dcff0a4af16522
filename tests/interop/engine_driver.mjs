// Runs the engine's modules, which lie in the folder that is given, on the jobs in its job.json; answers on stdout.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { buildModel } = await load("model.js");
const { parametersOf } = await load("parameters.js");
const { openSession } = await load("session.js");
const { makeTokenizer } = await load("tokenizer.js");

function bufferOf(name) {
  const bytes = fs.readFileSync(path.join(folder, name));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}

const JOBS = {
  // Teacher forcing at once, and the same step by step
  logits({ config, index, weights, source, target }) {
    const model = buildModel(config, parametersOf(index, bufferOf(weights)));
    const { memory, state } = model.encode(source.pixels ? { ...source, pixels: Uint8Array.from(source.pixels) } : source);
    const together = model.step(target, memory, state)[0].lists();
    let now = state;
    const steps = target.map((id) => {
      const [logits, after] = model.step([id], memory, now);
      now = after;
      return logits.lists()[0];
    });
    return { together, steps };
  },
  outputs({ facts, weights, sources, wanted }) {
    const session = openSession(facts, bufferOf(weights));
    return sources.map((source) => session.searched(source, {}, wanted).map(({ text, score, finished }) => ({ text, score, finished })));
  },
  view({ facts, weights, source, changes }) {
    return openSession(facts, bufferOf(weights)).view(source, changes);
  },
  tokens({ vocabulary, texts }) {
    const tokenizer = makeTokenizer(vocabulary);
    return texts.map((text) => {
      const ids = tokenizer.encode(text);
      return { ids, tokens: tokenizer.tokens(ids), text: tokenizer.decode(ids) };
    });
  },
  decoded({ vocabulary, rows }) {
    const tokenizer = makeTokenizer(vocabulary);
    return rows.map((ids) => tokenizer.decode(ids));
  },
};

const jobs = JSON.parse(fs.readFileSync(path.join(folder, "jobs.json"), "utf8"));
process.stdout.write(JSON.stringify(jobs.map((job) => JOBS[job.kind](job))));
