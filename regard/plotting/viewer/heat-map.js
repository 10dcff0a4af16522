// A heat map: rows are queries, columns keys; a bar after each row is its entropy. Pointer and arrow keys move over it.

import { drawn, measured, shortened } from "./dom.js";
import { entropy } from "./maps.js";
import { visible } from "./tokens.js";

const FONT = 13,
  LABEL = 130,
  BAR = 46,
  GAP = 8,
  LEAN = 52,
  CROWDED = 12;

// weights[t][s]; select is a `selection`, describe(row, column) the sentence for screen readers
export function heatMap(map, weights, select, describe) {
  const rows = map.rows.map(visible),
    columns = map.columns.map(visible);
  const size = Math.max(9, Math.min(32, Math.floor(560 / Math.max(columns.length, 1)))),
    step = Math.max(size, 17);
  const named = size > CROWDED; // narrower columns have no room for their names
  const widest = (labels) => Math.min(LABEL, Math.max(...labels.map((label) => measured(label, FONT)), 0)) + GAP;
  const left = Math.max(widest(rows), 36),
    top = named ? widest(columns) * 0.8 + 12 : 8;
  const right = left + columns.length * size,
    height = top + rows.length * step + 24;
  const ends = columns.map((label, s) => left + (s + 1) * size + 0.65 * Math.min(LABEL, measured(label, FONT)));
  const width = Math.max(right + BAR + 24, named ? Math.max(...ends) : 0);
  const most = Math.log(Math.max(2, columns.length));

  const cells = weights.map((row, t) =>
    row.map((weight, s) =>
      drawn("rect", {
        class: "cell",
        "data-row": t,
        "data-column": s,
        x: left + s * size + 0.5,
        y: top + t * step + 0.5,
        width: size - 1,
        height: step - 1,
        rx: 2,
        "fill-opacity": shade(weight),
      }),
    ),
  );
  const rowLabels = rows.map((label, t) =>
    drawn(
      "text",
      {
        class: "label",
        x: left - GAP,
        y: top + (t + 0.5) * step,
        "text-anchor": "end",
        "dominant-baseline": "central",
        "data-row": t,
      },
      shortened(label, LABEL, FONT),
    ),
  );
  const columnLabels = (named ? columns : []).map((label, s) =>
    drawn(
      "text",
      {
        class: "label",
        "data-column": s,
        transform: `translate(${left + (s + 0.5) * size + 3} ${top - 6}) rotate(-${LEAN})`,
      },
      shortened(label, LABEL, FONT),
    ),
  );
  const bars = weights.map((row, t) => {
    const share = Math.min(1, entropy(row) / most);
    const bar = { class: "entropy", "data-row": t, x: right + 10, y: top + (t + 0.5) * step - 2, height: 4, rx: 2 };
    return drawn(
      "rect",
      { ...bar, width: Math.max(1, share * BAR) },
      drawn("title", {}, `entropy ${entropy(row).toFixed(2)} nats`),
    );
  });
  const head = drawn("text", { class: "note", x: right + 10, y: height - 10 }, "entropy");
  const band = { class: "band", rx: 3, visibility: "hidden" };
  const across = drawn("rect", { ...band, x: left, width: columns.length * size, height: step });
  const down = drawn("rect", { ...band, y: top, width: size, height: rows.length * step });
  const svg = drawn(
    "svg",
    {
      class: "heat-map",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": `${map.name}: ${rows.length} queries by ${columns.length} keys. Arrow keys move from cell to cell.`,
    },
    cells,
    rowLabels,
    columnLabels,
    rows.length ? head : null,
    bars,
    across,
    down,
  );

  svg.addEventListener("pointermove", (event) => {
    const { row, column } = event.target.dataset;
    if (row !== undefined || column !== undefined) select.set(number(row), number(column));
  });
  svg.addEventListener("pointerleave", () => select.set(null, null));
  svg.addEventListener("blur", () => select.set(null, null));
  svg.addEventListener("keydown", (event) => move(event, select, rows.length, columns.length));
  select.listen(({ row, column }) => {
    place(across, row, "y", top, step);
    place(down, column, "x", left, size);
    for (const label of rowLabels) label.classList.toggle("on", Number(label.dataset.row) === row);
    for (const label of columnLabels) label.classList.toggle("on", Number(label.dataset.column) === column);
    if (document.activeElement === svg) svg.setAttribute("aria-label", describe(row, column));
  });
  return svg;
}

// Faint weights stay visible: a tenth is drawn as a fifth.
export function shade(weight) {
  return Math.min(1, Math.max(0.025, weight ** 0.7)).toFixed(3);
}

export function move(event, select, rows, columns) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Escape") return select.set(null, null);
  const step = steps[event.key];
  if (!step || !rows || !columns) return undefined;
  event.preventDefault();
  const now = select.get(),
    within = (place, count) => Math.max(0, Math.min(count - 1, place));
  const begun = now.row !== null || now.column !== null;
  return select.set(
    within((now.row ?? 0) + (begun ? step[0] : 0), rows),
    within((now.column ?? 0) + (begun ? step[1] : 0), columns),
  );
}

function place(band, index, axis, start, size) {
  band.setAttribute("visibility", index === null ? "hidden" : "visible");
  if (index !== null) band.setAttribute(axis, start + index * size);
}

function number(text) {
  return text === undefined ? null : Number(text);
}
