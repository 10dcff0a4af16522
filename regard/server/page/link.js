// The view as the part of an address after #: models, text, what was changed, and which map is shown.

const LISTS = ["silence", "uniform"];
const NUMBERS = ["hide", "prefix"];

// state: { text, view, beams, panels: [{ model, map, head, prefix, silence, uniform, hide }] }
export function written(state) {
  const fields = new URLSearchParams();
  if (state.text) fields.set("text", state.text);
  if (state.view !== "attention") fields.set("view", state.view);
  if (state.beams) fields.set("beams", state.beams);
  state.panels.forEach((panel, index) => {
    const put = (name, value) => fields.set(index ? `${name}.${index + 1}` : name, value);
    put("model", panel.model);
    if (panel.map) put("map", panel.map);
    if (panel.target) put("target", panel.target);
    if (panel.head !== null && panel.head !== undefined) put("head", panel.head);
    for (const name of [...LISTS, ...NUMBERS]) if (panel[name].length) put(name, panel[name].join(","));
  });
  return `#${fields}`;
}

export function read(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const panels = [];
  for (let index = 0; index < 2; index += 1) {
    const get = (name) => fields.get(index ? `${name}.${index + 1}` : name);
    if (!get("model")) break;
    const panel = { model: get("model"), map: get("map"), head: count(get("head")), target: get("target") ?? "" };
    for (const name of LISTS) panel[name] = (get(name) ?? "").split(",").filter(Boolean);
    for (const name of NUMBERS)
      panel[name] = (get(name) ?? "")
        .split(",")
        .map(count)
        .filter((value) => value !== null);
    panels.push(panel);
  }
  const view = fields.get("view") === "search" ? "search" : "attention";
  return { text: fields.get("text") ?? "", view, beams: count(fields.get("beams")), panels };
}

function count(text) {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : null;
}
