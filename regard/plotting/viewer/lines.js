// Attention as lines: keys on the left, queries on the right, as two facing pages; a line is as strong as its weight.

import { drawn, shortened } from "./dom.js";
import { move } from "./heat-map.js";
import { visible } from "./tokens.js";

const WIDTH = 440,
  LEFT = 140,
  RIGHT = 300,
  LINE = 28,
  TOP = 34,
  FONT = 14,
  LEAST = 0.02;
const SIDES = { source: "source", output: "output", input: "output so far", both: "source and output" };

export function lines(map, weights, select, describe) {
  const at = (index) => TOP + index * LINE;
  const height = TOP + Math.max(map.rows.length, map.columns.length) * LINE;
  const paths = [];
  weights.forEach((row, t) =>
    row.forEach((weight, s) => {
      if (weight < LEAST) return;
      const [from, to, middle] = [at(s), at(t), (LEFT + RIGHT) / 2];
      paths.push(
        drawn("path", {
          class: "line",
          "data-row": t,
          "data-column": s,
          "data-weight": weight,
          "stroke-width": (0.75 + 3.5 * weight).toFixed(2),
          d: `M${LEFT + 8} ${from} C${middle} ${from} ${middle} ${to} ${RIGHT - 8} ${to}`,
        }),
      );
    }),
  );
  const keys = map.columns.map((token, s) =>
    label(token, { x: LEFT, y: at(s), "text-anchor": "end", "data-column": s }),
  );
  const queries = map.rows.map((token, t) => label(token, { x: RIGHT, y: at(t), "data-row": t }));
  const heads = [
    drawn("text", { class: "note", x: LEFT, y: 10, "text-anchor": "end" }, SIDES[map.column_side]),
    drawn("text", { class: "note", x: RIGHT, y: 10 }, SIDES[map.row_side]),
  ];
  const svg = drawn(
    "svg",
    {
      class: "lines",
      viewBox: `0 0 ${WIDTH} ${height}`,
      width: WIDTH,
      height,
      tabindex: 0,
      role: "application",
      "aria-roledescription": "lines between two sentences",
      "aria-label": `${map.name} as lines. Arrow keys up and down move from word to word.`,
    },
    heads,
    paths,
    keys,
    queries,
  );

  svg.addEventListener("pointermove", (event) => {
    const { row, column } = event.target.dataset;
    if (event.target.tagName !== "text") return;
    select.set(row === undefined ? null : Number(row), column === undefined ? null : Number(column));
  });
  svg.addEventListener("pointerleave", () => select.set(null, null));
  svg.addEventListener("blur", () => select.set(null, null));
  svg.addEventListener("keydown", (event) => {
    const now = select.get(),
      across = { ArrowLeft: "column", ArrowRight: "row" }[event.key];
    if (across) {
      // to the other sentence
      event.preventDefault();
      const index = now.row ?? now.column ?? 0;
      select.set(
        across === "row" ? Math.min(index, map.rows.length - 1) : null,
        across === "column" ? Math.min(index, map.columns.length - 1) : null,
      );
    } else if (now.column !== null && now.row === null) {
      move(turned(event), select, 1, map.columns.length);
      select.set(null, select.get().column);
    } else {
      move(event, select, map.rows.length, 1);
      if (select.get().row !== null) select.set(select.get().row, null);
    }
  });
  const emphasise = ({ row, column }) => {
    for (const path of paths) {
      const on =
        row !== null ? Number(path.dataset.row) === row : column === null || Number(path.dataset.column) === column;
      const weight = Number(path.dataset.weight),
        chosen = row !== null || column !== null;
      path.setAttribute("stroke-opacity", (on ? Math.min(1, (chosen ? 0.25 : 0.06) + weight) : 0.04).toFixed(3));
    }
    for (const text of [...keys, ...queries]) {
      const mine = text.dataset.row === undefined ? column : row,
        index = Number(text.dataset.row ?? text.dataset.column);
      text.classList.toggle("on", mine === index);
    }
    if (document.activeElement === svg) svg.setAttribute("aria-label", describe(row, column));
  };
  emphasise(select.get());
  select.listen(emphasise);
  return svg;
}

function label(token, attributes) {
  return drawn(
    "text",
    { class: "label large", "dominant-baseline": "central", ...attributes },
    shortened(visible(token), LEFT - 4, FONT),
  );
}

// Up and down in the list of keys are left and right among the columns.
function turned(event) {
  const key = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[event.key] ?? event.key;
  return { key, preventDefault: () => event.preventDefault() };
}
