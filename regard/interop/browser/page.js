// The page that holds a model: what is typed is translated at once, and every head can be looked at and changed.

import { button, element } from "./dom.js";
import { openSession } from "./session.js";
import { plainly } from "./tokens.js";
import { traceView } from "./trace-view.js";

const PAUSE = 120; // milliseconds without a key before the search starts
const FRAME = 24; // milliseconds of search between two looks at the page
const UNCHANGED = { prefix: [], silence: [], uniform: [], hide: [] };
const VERBS = { translation: "Translate", continuation: "Continue", captioning: "Describe" };

const facts = JSON.parse(document.getElementById("facts").textContent);
const opened = performance.now();
const session = openSession(facts, bytesOf(document.getElementById("weights").textContent).buffer);
const shown = { changes: UNCHANGED, map: null, head: null, closed: false };
let input = null,
  search = 0,
  plain = null; // the record without changes

const output = element("section", { class: "answer", "aria-live": "polite" });
const changes = element("ul", { class: "changes", "aria-label": "changes" });
const problem = element("p", { class: "problem", role: "alert" });
const timing = element("p", { class: "timing" });
document.body.append(
  element(
    "main",
    { class: "viewer held" },
    element("h1", {}, `${VERBS[facts.task]}: ${facts.name}`),
    facts.task === "captioning" ? imageInput() : textInput(),
    problem,
    changes,
    output,
    timing,
    about(),
  ),
);
if (facts.examples.length) give(facts.examples[0]);

function bytesOf(base64) {
  const letters = atob(base64.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// --- input ---

function textInput() {
  let waiting = null;
  const area = element("textarea", {
    rows: 2,
    spellcheck: "false",
    autofocus: true,
    dir: "auto",
    "aria-label": "text",
  });
  area.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => give(area.value, false), PAUSE);
  });
  const examples = facts.examples.map((text) =>
    element(
      "li",
      {},
      button(text, () => give(text), { dir: "auto" }),
    ),
  );
  return element(
    "div",
    { class: "input" },
    area,
    element("ul", { class: "examples", "aria-label": "examples" }, examples),
  );
}

// An image of any size is fitted whole into the square that the model reads; what is left is white.
function imageInput() {
  const file = element("input", { type: "file", accept: "image/*", "aria-label": "image" });
  file.addEventListener("change", () => file.files.length && give({ uri: URL.createObjectURL(file.files[0]) }));
  const examples = facts.examples.map((example, index) => {
    const image = element("img", { src: example.uri, alt: `example ${index + 1}`, width: 64, height: 64 });
    const click = () => give(example);
    return element("li", {}, element("button", { type: "button", class: "image", click }, image));
  });
  const choose = (event) => input && give({ ...input, word: Number(event.target.value) });
  const options = facts.words.map((word, index) => element("option", { value: index + 1 }, word));
  const words = facts.words.length && element("select", { "aria-label": "word", change: choose }, options);
  return element("div", { class: "input" }, file, words || null, element("ul", { class: "examples" }, examples));
}

async function give(given, typed = true) {
  try {
    input = facts.task === "captioning" ? await pixelsOf(given) : given;
  } catch {
    problem.textContent = "this file is no image that the browser can read";
    return;
  }
  const area = document.querySelector("textarea");
  if (typed && area) area.value = given;
  shown.changes = UNCHANGED;
  update();
}

async function pixelsOf({ uri, word = facts.words.length ? 1 : 0 }) {
  const image = element("img", { src: uri });
  await image.decode();
  const side = facts.model.image_size,
    scale = side / Math.max(image.naturalWidth, image.naturalHeight);
  const canvas = element("canvas", { width: side, height: side });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const [width, height] = [image.naturalWidth, image.naturalHeight].map((one) => Math.max(1, Math.round(one * scale)));
  context.fillStyle = "#fff";
  context.fillRect(0, 0, side, side);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, Math.floor((side - width) / 2), Math.floor((side - height) / 2), width, height);
  const { data } = context.getImageData(0, 0, side, side);
  return { uri: canvas.toDataURL(), word, pixels: data.filter((_, i) => i % 4 !== 3) };
}

// --- output ---

async function update() {
  const mine = (search += 1);
  problem.textContent = "";
  showChanges();
  if (!input || input === "" || (typeof input === "string" && !input.trim())) {
    output.replaceChildren();
    timing.textContent = "";
    return;
  }
  try {
    const [outputs, milliseconds] = isChanged() ? [session.searched(input, shown.changes), null] : await growing(mine);
    if (mine !== search) return;
    const record = session.view(input, shown.changes, outputs);
    if (!isChanged()) plain = record;
    draw(record, isChanged() ? plain : null);
    if (milliseconds !== null) showTiming(milliseconds, outputs[0]);
  } catch (error) {
    output.replaceChildren();
    problem.textContent = error.message;
  }
}

// The search, with a look at the page now and then: what has been found is shown, and a new text ends it.
async function growing(mine) {
  const steps = session.steps(input);
  let spent = 0,
    since = performance.now();
  for (;;) {
    const { value, done } = steps.next();
    const now = performance.now();
    if (done) return [value, spent + now - since];
    if (now - since < FRAME) continue;
    spent += now - since;
    if (!output.querySelector(".trace")) output.replaceChildren(element("p", { class: "growing" }, plainly(value)));
    await new Promise((resolve) => setTimeout(resolve));
    if (mine !== search) return [[], 0];
    since = performance.now();
  }
}

function draw(record, before) {
  const settings = {
    ...shown,
    changed: (chosen) => Object.assign(shown, { map: chosen.map, head: chosen.head }),
    closed: output.querySelector(".heads")?.open === false,
  };
  output.replaceChildren(traceView(record, settings, { choose: chooseIn(record), hide, change }, before));
}

function isChanged() {
  return Object.values(shown.changes).some((list) => list.length);
}

function edit(fields) {
  shown.changes = { ...shown.changes, ...fields };
  update();
}

function chooseIn(record) {
  return (place, id) => {
    const before = record.predictions.slice(record.given, place).map((one) => one.id);
    edit({ prefix: [...before, id] });
  };
}

function hide(word, hidden) {
  const others = shown.changes.hide.filter((one) => one !== word);
  edit({ hide: hidden ? [...others, word].sort((one, other) => one - other) : others });
}

function change(name, to) {
  const others = (list) => list.filter((one) => one !== name);
  const { silence, uniform } = shown.changes;
  edit({
    silence: [...others(silence), ...(to === "silent" ? [name] : [])],
    uniform: [...others(uniform), ...(to === "uniform" ? [name] : [])],
  });
}

function showChanges() {
  const { prefix, silence, uniform, hide: hidden } = shown.changes;
  const item = (text, undo) => element("li", {}, text, " ", button("×", undo, { "aria-label": `undo: ${text}` }));
  const word = (index) => plain?.source_words[index]?.text;
  changes.replaceChildren(
    ...(prefix.length ? [item("a word chosen by hand", () => edit({ prefix: [] }))] : []),
    ...silence.map((name) => item(`${name} off`, () => change(name, null))),
    ...uniform.map((name) => item(`${name} uniform`, () => change(name, null))),
    ...hidden.map((index) =>
      item(word(index) ? `“${word(index)}” hidden` : `cell ${index} hidden`, () => hide(index, false)),
    ),
  );
}

function showTiming(milliseconds, { ids }) {
  const each = milliseconds / (ids.length + 1);
  const took = `${milliseconds.toFixed(0)} ms, ${each.toFixed(1)} ms a token`;
  timing.textContent = `${ids.length + 1} tokens in ${took}, here in the browser`;
  if (!timing.dataset.first) timing.dataset.first = String(Math.round(performance.now() - opened));
  timing.dataset.each = each.toFixed(2);
}

function about() {
  return element("details", {}, element("summary", {}, "About this model"), element("pre", {}, facts.card));
}
