// One model and what it makes of the input: the growing output, its attention or its search, and what was changed.

import { stream, trace, tree } from "./api.js";
import { button, element, keepingFocus } from "./dom.js";
import { percent, plainly } from "./tokens.js";
import { traceView } from "./trace-view.js";
import { treeView } from "./tree.js";

const OUTPUTS = 3;

export function unchanged(model) {
  return { model, map: null, head: null, prefix: [], silence: [], uniform: [], hide: [], target: "" };
}

// own: the panel's part of the state; app: { input(), view(), beams(), changed(), problem(error) }
export function createPanel(own, known, app) {
  const head = element("div", { class: "panel-top" });
  const changes = element("div", { class: "changes" });
  const output = element("div", { class: "panel-view" });
  const others = element("div", { class: "others" });
  const problem = element("p", { class: "problem", role: "alert" });
  const node = element(
    "section",
    { class: "model-panel", "aria-label": own.model },
    head,
    problem,
    changes,
    output,
    others,
  );
  let waiting = null;
  let record = null;
  let plain = { key: null, record: null }; // of the same input without changes

  function edited() {
    return own.prefix.length + own.silence.length + own.uniform.length + own.hide.length + own.target.length > 0;
  }

  function request() {
    const { text, file } = app.input();
    const { prefix, silence, uniform, hide, target } = own;
    const search = !target && app.beams() ? { beams: app.beams() } : {};
    return {
      model: own.model,
      ...(file ? { file } : { text }),
      ...(prefix.length ? { prefix_ids: prefix } : {}),
      ...(target ? { target } : {}),
      ...search,
      silence,
      uniform,
      hide,
    };
  }

  async function update() {
    waiting?.abort();
    const mine = (waiting = new AbortController());
    const { text, file } = app.input();
    problem.textContent = "";
    showChanges();
    if (!text?.trim() && !file) return void clear();
    node.setAttribute("aria-busy", "true");
    try {
      if (app.view() === "search") await search(mine.signal);
      else await attention(mine.signal);
    } catch (error) {
      if (error.name === "AbortError" || mine !== waiting) return;
      clear();
      problem.textContent = error.message;
      app.problem(error);
    }
    if (mine === waiting) node.removeAttribute("aria-busy");
  }

  async function attention(signal) {
    const asked = request();
    const { silence, uniform, hide, target, prefix_ids: chosen, ...simple } = asked;
    const streams = ["translation", "continuation"].includes(known.task) && !edited();
    if (streams) await stream({ model: simple.model, text: simple.text }, ({ text }) => grow(text), signal);
    const found = await trace({ ...asked, ...(own.target ? {} : best()) }, signal);
    const before = edited() ? await baseline(simple, signal) : null;
    if (signal.aborted) return;
    record = found;
    if (!edited()) plain = { key: keyOf(simple), record: found };
    draw(before);
  }

  // A beam search gives as many outputs as it has beams.
  function best() {
    const beams = app.beams() ?? known.search.beams;
    return known.task !== "classification" && beams > 1 ? { n_best: Math.min(OUTPUTS, beams) } : {};
  }

  async function baseline(asked, signal) {
    if (plain.key !== keyOf(asked)) plain = { key: keyOf(asked), record: await trace(asked, signal) };
    return plain.record;
  }

  async function search(signal) {
    const { target, prefix_ids: chosen, ...asked } = request();
    const found = await tree({ ...asked, beams: Math.max(2, app.beams() ?? known.search.beams) }, signal);
    if (signal.aborted) return;
    record = found;
    others.replaceChildren();
    output.replaceChildren(treeView(found));
  }

  function draw(before) {
    const settings = { map: own.map, head: own.head, changed: ({ map, head: chosen }) => note({ map, head: chosen }) };
    const actions = { choose, hide, change };
    if (!["translation", "captioning", "continuation"].includes(known.task)) actions.choose = null;
    const heads = output.querySelector(".heads");
    const closed = heads ? !heads.open : undefined;
    keepingFocus(output, () => output.replaceChildren(traceView(record, { ...settings, closed }, actions, before)));
    showOthers();
  }

  function grow(text) {
    let place = output.querySelector(".sentence.output");
    if (!place) {
      place = element("p", { class: "sentence output", dir: "auto" });
      output.replaceChildren(place);
    }
    place.replaceChildren(element("span", { class: "growing" }, plainly(text)));
  }

  function clear() {
    record = null;
    node.removeAttribute("aria-busy");
    output.replaceChildren();
    others.replaceChildren();
  }

  function note(fields) {
    Object.assign(own, fields);
    app.changed();
  }

  function edit(fields) {
    note(fields);
    update();
  }

  function choose(place, id) {
    const before = record.predictions.slice(record.given, place).map((one) => one.id);
    edit({ prefix: [...before, id], target: "" });
  }

  function hide(word, hidden) {
    edit({
      hide: hidden ? [...own.hide, word].sort((one, other) => one - other) : own.hide.filter((one) => one !== word),
    });
  }

  function change(name, to) {
    const rest = (list) => list.filter((one) => one !== name);
    edit({
      silence: to === "silent" ? [...rest(own.silence), name] : rest(own.silence),
      uniform: to === "uniform" ? [...rest(own.uniform), name] : rest(own.uniform),
    });
  }

  function showChanges() {
    const chip = (text, undo) => element("li", {}, text, button("×", undo, { "aria-label": `undo: ${text}` }));
    const word = (index) => record?.source_words?.[index]?.text;
    const chips = [
      own.prefix.length ? [chip("a word chosen by hand", () => edit({ prefix: [] }))] : [],
      own.target ? [chip("another output of the search", () => edit({ target: "" }))] : [],
      own.silence.map((name) => chip(`${name} off`, () => change(name, null))),
      own.uniform.map((name) => chip(`${name} uniform`, () => change(name, null))),
      own.hide.map((index) =>
        chip(`${word(index) ? `“${word(index)}”` : `cell ${index}`} hidden`, () => hide(index, false)),
      ),
    ].flat();
    const reset = () => edit({ prefix: [], silence: [], uniform: [], hide: [], target: "" });
    const all = chips.length > 1 ? button("undo all", reset, { class: "undo-all" }) : null;
    changes.replaceChildren(
      ...(chips.length ? [element("span", { class: "note" }, "changed: "), element("ul", {}, chips), all] : []).filter(
        Boolean,
      ),
    );
  }

  function showOthers() {
    const rows = (record.outputs ?? []).slice(1).map((one) =>
      element(
        "li",
        {},
        button(element("bdi", {}, plainly(one.text) || "‹nothing›"), () => edit({ prefix: [], target: one.text })),
        element("span", { class: "number" }, percent(Math.exp(one.log_prob))),
      ),
    );
    others.replaceChildren(
      ...(rows.length ? [element("h2", {}, "Other outputs of the search"), element("ol", {}, rows)] : []),
    );
  }

  const languages = known.source_language && known.target_language;
  const title = languages ? `${known.task}, ${known.source_language} → ${known.target_language}` : known.task;
  return {
    node,
    head,
    own,
    title,
    update,
    record: () => record,
    stop: () => waiting?.abort(),
  };
}

function keyOf(asked) {
  return JSON.stringify({ ...asked, file: asked.file && [asked.file.name, asked.file.size, asked.file.lastModified] });
}
