// The page: one input, one or two models, and what they make of it while it is typed.

import * as api from "./api.js";
import { button, choice, element, keepingFocus } from "./dom.js";
import { read, written } from "./link.js";
import { createPanel, unchanged } from "./panel.js";
import { download } from "./save.js";

const PAUSE = 120; // milliseconds without a key before the models are asked
const EXAMPLE_BEAMS = [1, 2, 3, 4, 6, 8];
const state = { text: "", view: "attention", beams: null, panels: [] };
const main = document.getElementById("main"),
  tools = document.getElementById("tools");
let known = new Map();
let panels = [];
let picture = null; // a File
let timer = null;

const entry = element("textarea", {
  id: "entry",
  rows: 2,
  dir: "auto",
  spellcheck: "false",
  autocomplete: "off",
  placeholder: "Type here",
  input: typed,
});
const label = element("label", { for: "entry", class: "unseen" }, "Source");
const file = element("input", {
  type: "file",
  accept: "image/*",
  id: "file",
  class: "unseen",
  change: () => take(file.files[0]),
});
const drop = element(
  "div",
  { class: "drop", hidden: true },
  element("label", { for: "file" }, "Drop a picture here, paste one, or ", element("u", {}, "choose a file"), "."),
  file,
);
const grid = element("div", { class: "panels" });
const said = element("p", { class: "note", role: "status" });
start();

async function start() {
  try {
    known = new Map((await api.models()).models.map((model) => [model.name, model]));
  } catch (error) {
    return askForKey(error);
  }
  main.replaceChildren(element("div", { class: "entry" }, label, entry, drop), said, grid);
  restore();
  window.addEventListener("hashchange", () => location.hash !== written(state) && restore());
  return undefined;
}

function restore() {
  const linked = read(location.hash);
  const usable = linked.panels.filter((panel) => known.has(panel.model));
  Object.assign(state, linked, { panels: usable.length ? usable : [unchanged([...known.keys()][0])] });
  const missing = linked.panels.length - usable.length;
  said.textContent = missing ? "The link names a model that is not served here." : "";
  entry.value = state.text;
  build();
}

// The tools and the panels anew, then their answers.
function build() {
  for (const panel of panels) panel.stop();
  const app = {
    input,
    view: () => state.view,
    beams: () => state.beams,
    changed: remember,
    problem: (error) => error.status === 401 && askForKey(error),
  };
  panels = state.panels.map((own) => createPanel(own, known.get(own.model), app));
  panels.forEach((panel, index) => panel.head.replaceChildren(...panelHead(panel, index)));
  grid.replaceChildren(...panels.map((panel) => panel.node));
  grid.classList.toggle("two", panels.length > 1);
  const pictures = readsImages(state.panels[0].model);
  entry.hidden = label.hidden = pictures;
  drop.hidden = !pictures;
  showTools();
  update();
}

function panelHead(panel, index) {
  const same = [...known.values()].filter(
    (model) => !index || readsImages(model.name) === readsImages(state.panels[0].model),
  );
  const options = same.map(({ name }) => element("option", { value: name, selected: name === panel.own.model }, name));
  const pick = element(
    "select",
    {
      "aria-label": panels.length > 1 ? `model ${index + 1}` : "model",
      change: (event) => swap(index, event.target.value),
    },
    options,
  );
  const remove =
    panels.length > 1 &&
    button(
      "×",
      () => {
        state.panels.splice(index, 1);
        build();
      },
      { "aria-label": `remove ${panel.own.model}`, class: "close" },
    );
  return [pick, element("span", { class: "note" }, panel.title), remove].filter(Boolean);
}

function swap(index, model) {
  state.panels[index] = unchanged(model);
  const other = state.panels[1];
  if (!index && other && readsImages(other.model) !== readsImages(model)) state.panels.pop();
  build();
}

function showTools() {
  const views = choice(
    "view",
    [
      ["attention", "Attention"],
      ["search", "Beam search"],
    ],
    state.view,
    (view) => {
      state.view = view;
      build();
    },
  );
  const beams = element(
    "label",
    {},
    "beams ",
    element(
      "select",
      {
        "aria-label": "beams",
        change: (event) => {
          state.beams = Number(event.target.value) || null;
          build();
        },
      },
      [["", "as in the recipe"], ...EXAMPLE_BEAMS.map((count) => [String(count), String(count)])].map(([value, text]) =>
        element("option", { value, selected: value === String(state.beams ?? "") }, text),
      ),
    ),
  );
  const searches = known.get(state.panels[0].model).task !== "classification";
  const second = [...known.values()].find(
    ({ name }) => name !== state.panels[0].model && readsImages(name) === readsImages(state.panels[0].model),
  );
  const compare =
    panels.length < 2 &&
    second &&
    button("Compare", () => {
      state.panels.push(unchanged(second.name));
      build();
    });
  keepingFocus(tools, () =>
    tools.replaceChildren(
      ...[
        searches && views,
        searches && beams,
        compare,
        button("Copy link", copyLink),
        button("Save page", savePage),
        scheme(),
      ].filter(Boolean),
    ),
  );
}

function scheme() {
  const root = document.documentElement;
  const dark = root.dataset.scheme
    ? root.dataset.scheme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  return button(
    dark ? "Light" : "Dark",
    () => {
      root.dataset.scheme = dark ? "light" : "dark";
      build();
    },
    { "aria-label": dark ? "light colours" : "dark colours" },
  );
}

function input() {
  return readsImages(state.panels[0].model) ? { file: picture } : { text: state.text };
}

function readsImages(model) {
  return known.get(model).task === "captioning";
}

// Words and positions are those of another text now; heads stay as they are.
function typed() {
  state.text = entry.value;
  for (const own of state.panels) Object.assign(own, { prefix: [], hide: [], target: "" });
  clearTimeout(timer);
  timer = setTimeout(update, PAUSE);
}

function update() {
  remember();
  for (const panel of panels) panel.update();
}

function remember() {
  history.replaceState(null, "", written(state));
}

async function copyLink() {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    said.textContent = picture
      ? "The link is copied. It restores models and view; the picture stays here."
      : "The link is copied.";
  } catch {
    said.textContent = `The browser does not let this page copy; the link is its address: ${location.href}`;
  }
}

// What is shown, as a file of its own that needs no server; of two models, the one after the other.
async function savePage() {
  const page = await (await fetch("page/viewer.html")).text();
  for (const panel of panels) {
    const record = panel.record();
    if (!record) continue;
    const data = JSON.stringify(record).replaceAll("<", "\\u003c");
    const filled = page.replace(/(id="data">).*?(<\/script>)/s, (_, open, close) => open + data + close);
    download(new Blob([filled], { type: "text/html" }), `regard-${panel.own.model}.html`);
  }
}

for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => {
    if (drop.hidden) return;
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name === "drop") take([...event.dataTransfer.files].find((each) => each.type.startsWith("image/")));
  });
}
document.addEventListener("paste", (event) => {
  const pasted = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith("image/"));
  if (pasted && !drop.hidden) take(pasted);
});

function take(chosen) {
  if (!chosen) {
    said.textContent = "That is no picture.";
    return;
  }
  picture = chosen;
  for (const own of state.panels) Object.assign(own, { prefix: [], hide: [], target: "" });
  said.textContent = chosen.name;
  update();
}

function askForKey(error) {
  if (![401, 403].includes(error.status))
    return void main.replaceChildren(element("p", { class: "problem", role: "alert" }, error.message));
  const given = element("input", { type: "password", id: "key", autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    api.useKey(given.value);
    start();
  };
  main.replaceChildren(
    element(
      "form",
      { class: "key", submit },
      element("label", { for: "key" }, "This server asks for an API key: "),
      given,
      element("button", { type: "submit" }, "Go on"),
    ),
  );
  return undefined;
}
