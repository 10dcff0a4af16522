// A trace: the two sentences, the map that was chosen as heat map and as lines or over the image, and all heads small.

import { choice, element, keepingFocus } from "./dom.js";
import { allHeads } from "./heads.js";
import { heatMap } from "./heat-map.js";
import { imageFigure } from "./image.js";
import { lines } from "./lines.js";
import { entropy, headName, mapNamed, placeOf, selection, tokenAt, weightsOf } from "./maps.js";
import { figure } from "./save.js";
import { alternativesPanel, outputSentence, sourceSentence } from "./sentences.js";
import { isMark, percent, plainly, visible } from "./tokens.js";

// settings: { map, head } to begin with, changed(settings) is told of others. actions, where a model serves the view:
// choose(place, id), hide(word, hidden), change(name, "silent" | "uniform" | null). before: the record without changes.
export function traceView(record, settings = {}, actions = {}, before = null) {
  const view = { map: settings.map ?? record.first, head: settings.head ?? null };
  const root = element("article", { class: "trace" });
  let select = selection(),
    map = null,
    weights = [];

  const on = { point, open };
  const output = outputSentence(record, on, before);
  const source = record.image ? null : sourceSentence(record, on, actions);
  const panel = element("div", { class: "panel" });
  const facing = element(
    "div",
    { class: `facing ${source ? "" : "single"}` },
    source && element("div", {}, element("h2", {}, record.given ? "Text" : "Source"), source),
    element(
      "div",
      {},
      element("h2", {}, record.image ? "Caption" : record.task === "classification" ? "Class" : "Output"),
      output,
      restoredLine(record),
      beforeLine(before),
      panel,
    ),
  );
  const maps = element("div", { class: "maps" });
  root.append(facing, maps);
  draw();
  return root;

  function point(side, place) {
    if (!map) return;
    if (side === null) return select.set(null, null);
    const row = placeOf(side, map.row_side, place, record),
      column = placeOf(side, map.column_side, place, record);
    const both = map.row_side === map.column_side;
    select.set(
      row !== null && row < map.rows.length ? row : null,
      both || column === null || column >= map.columns.length ? null : column,
    );
  }

  function open(place) {
    const tokens = [...output.querySelectorAll("button.token")];
    const chosen = tokens.find((token) => Number(token.dataset.place) === place);
    const was = chosen.getAttribute("aria-expanded") === "true";
    for (const token of tokens) if (token.hasAttribute("aria-expanded")) token.setAttribute("aria-expanded", "false");
    panel.replaceChildren();
    if (was || !record.predictions[place]) return;
    chosen.setAttribute("aria-expanded", "true");
    const close = () => {
      open(place);
      chosen.focus();
    };
    panel.append(alternativesPanel(record, place, actions, close));
    panel.querySelector("button").focus();
  }

  function choose(name, head) {
    Object.assign(view, { map: name, head });
    settings.changed?.({ ...view });
    keepingFocus(maps, draw);
    maps.querySelector(".map-name").scrollIntoView({ block: "nearest" });
  }

  function draw() {
    map = mapNamed(record, view.map);
    select = selection();
    if (!map) {
      const text =
        record.task === "classification" || record.given
          ? "This model has no attention to show."
          : "This model attends to nothing: all that it knows of the source has passed through one vector.";
      maps.replaceChildren(element("p", { class: "bottleneck" }, text));
      return;
    }
    if (view.head !== null && view.head >= map.weights.length) view.head = null;
    weights = weightsOf(map, view.head);
    const status = element("p", { class: "status", role: "status" }, " ");
    const mean = map.weights.length > 1 ? ", mean of heads" : "";
    const name = `${map.name}${view.head === null ? mean : `, head ${view.head}`}`;
    const first =
      record.image &&
      map.column_side === "source" &&
      map.row_side !== "source" &&
      imageFigure(record, map, weights, select, describe, actions);
    const heat = figure(heatMap(map, weights, select, describe), "Heat map", "heat-map");
    const other = first
      ? figure(first.svg, "Where it looked", "image", first.strip)
      : figure(lines(map, weights, select, describe), "Lines", "lines");
    maps.replaceChildren(
      controls(),
      element("h2", { class: "map-name" }, name),
      element("div", { class: "figures" }, first ? [other, heat] : [heat, other]),
      status,
      element(
        "details",
        { class: "heads", open: (settings.closed ?? narrow()) ? null : true },
        element("summary", {}, "All heads"),
        allHeads(record, view, choose, change),
      ),
      element("details", {}, element("summary", {}, "The weights as a table"), table()),
    );
    select.listen(({ row, column }) => {
      status.textContent = describe(row, column);
      shade(row, column);
    });
  }

  function controls() {
    const options = record.maps.map((one) => element("option", { value: one.name, selected: one === map }, one.name));
    const picker = element(
      "label",
      {},
      "attention ",
      element("select", { "aria-label": "attention", change: (event) => choose(event.target.value, null) }, options),
    );
    const heads =
      map.weights.length > 1 &&
      choice(
        "head",
        [[null, "mean"], ...map.weights.map((_, head) => [head, `${head}`, `head ${head}`])],
        view.head,
        (head) => choose(map.name, head),
      );
    const free = actions.change && map.kind === "attention";
    const what =
      free &&
      choice(
        "what if",
        [
          [null, "as trained"],
          ["uniform", "uniform"],
          ["silent", "off"],
        ],
        change(headName(map, view.head)),
        (to) => actions.change(headName(map, view.head), to),
      );
    return element(
      "div",
      { class: "controls" },
      picker,
      heads && element("span", { class: "labelled" }, "head ", heads),
      free &&
        element(
          "span",
          { class: "labelled what-if" },
          view.head !== null
            ? `what if head ${view.head} were `
            : map.weights.length > 1
              ? "what if all heads were "
              : "what if it were ",
          what,
        ),
    );
  }

  function change(name) {
    const { silence, uniform } = record.changes;
    return silence.includes(name) ? "silent" : uniform.includes(name) ? "uniform" : null;
  }

  function describe(row, column) {
    if (row === null && column === null) return " ";
    const query = row === null ? null : visible(map.rows[row]),
      key = column === null ? null : keyName(column);
    if (query !== null && key !== null) return `${query} → ${key}: ${weights[row][column].toFixed(3)}`;
    if (query !== null) {
      const ranked = weights[row]
        .map((weight, s) => [weight, s])
        .sort((one, other) => other[0] - one[0])
        .slice(0, 3);
      const most = ranked.filter(([weight]) => weight > 0.01).map(([weight, s]) => `${keyName(s)} ${percent(weight)}`);
      return `${query} → ${most.join(", ") || "nothing"} · entropy ${entropy(weights[row]).toFixed(2)} nats`;
    }
    const ranked = weights
      .map((one, t) => [one[column], t])
      .sort((one, other) => other[0] - one[0])
      .slice(0, 3);
    return `${key} ← ${
      ranked
        .filter(([weight]) => weight > 0.01)
        .map(([weight, t]) => `${visible(map.rows[t])} ${percent(weight)}`)
        .join(", ") || "nothing"
    }`;
  }

  function keyName(column) {
    return record.image && map.column_side === "source" ? `cell ${map.columns[column]}` : visible(map.columns[column]);
  }

  // The sentences show the same as the figures: what is pointed at, and on the other side how much it matters.
  function shade(row, column) {
    for (const token of root.querySelectorAll(".token")) {
      const { side, place } = token.dataset,
        index = Number(place);
      const asRow = placeOf(side, map.row_side, index, record),
        asColumn = placeOf(side, map.column_side, index, record);
      const here =
        tokenAt(side, map.row_side, row, record) === index || tokenAt(side, map.column_side, column, record) === index;
      const weight = row !== null ? weights[row][asColumn] : column !== null ? weights[asRow]?.[column] : 0;
      token.classList.toggle("here", here);
      token.style.setProperty("--heat-share", `${Math.round(45 * (weight ?? 0))}%`);
    }
  }

  function table() {
    const head = element(
      "tr",
      {},
      element("td", {}),
      map.columns.map((_, s) => element("th", { scope: "col" }, keyName(s))),
    );
    const rows = map.rows.map((token, t) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, visible(token)),
        weights[t].map((weight) => element("td", {}, weight.toFixed(3))),
      ),
    );
    return element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "the weights as a table" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, rows)),
    );
  }
}

// On a phone the small heads wait to be asked for.
function narrow() {
  return matchMedia("(max-width: 48rem)").matches;
}

// Tags and placeholders were taken out before the model read the text, and stand in the text of the output again.
function restoredLine(record) {
  const spoken = record.output_tokens
    .slice(record.given)
    .filter((token) => !isMark(token))
    .join("");
  const same = !record.text || spoken.trim() === record.text.trim();
  return same ? null : element("p", { class: "before" }, "As text: ", element("bdi", {}, plainly(record.text)));
}

function beforeLine(before) {
  return (
    before && element("p", { class: "before" }, "Unchanged, the model says: ", element("bdi", {}, plainly(before.text)))
  );
}
