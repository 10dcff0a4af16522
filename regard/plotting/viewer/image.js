// What was looked at in an image: large for the word pointed at, and small for each word;
// dark where weights are low.

import { drawn, element } from "./dom.js";
import { isMark, visible } from "./tokens.js";

const LARGE = 336,
  SMALL = 92,
  VEIL = 0.78; // VEIL: how dark the cell of the least weight is

export function imageFigure(record, map, weights, select, describe, actions) {
  const { side, uri, hidden } = record.image;
  const label = (row) => (row === null ? "the image" : visible(map.rows[row]));
  const base = drawn("image", { href: uri, width: LARGE, height: LARGE });
  const cells = Array.from({ length: side * side }, (_, cell) =>
    square(cell, side, LARGE, { class: "veil", "data-column": cell, "shape-rendering": "crispEdges" }),
  );
  const covers = hidden.map((cell) => square(cell, side, LARGE, { class: "cover" }));
  const ring = drawn("rect", { class: "band", width: LARGE / side, height: LARGE / side, visibility: "hidden" });
  const caption = drawn("text", { class: "label large", x: LARGE / 2, y: LARGE + 22, "text-anchor": "middle" });
  const svg = drawn(
    "svg",
    {
      class: "image",
      viewBox: `0 0 ${LARGE} ${LARGE + 30}`,
      width: LARGE,
      height: LARGE + 30,
      tabindex: 0,
      role: "application",
      "aria-roledescription": "image with attention",
      "aria-label": "The image. Arrow keys left and right move from word to word.",
    },
    base,
    covers,
    cells,
    ring,
    caption,
  );
  const words = map.rows.map((token, row) => ({ token, row })).filter(({ token }) => !isMark(token));
  const strip = words.map(({ row }) => thumbnail(record, weights[row], label(row), () => select.set(row, null)));

  svg.addEventListener("pointermove", (event) => {
    const { column } = event.target.dataset;
    if (column !== undefined) select.set(select.get().row, Number(column));
  });
  svg.addEventListener("pointerleave", () => select.set(null, null));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") select.set(null, null);
    if (!step || !words.length) return;
    event.preventDefault();
    const place = words.findIndex(({ row }) => row === select.get().row);
    const next = place < 0 ? 0 : Math.max(0, Math.min(words.length - 1, place + step));
    select.set(words[next].row, null);
  });
  if (actions.hide) {
    svg.addEventListener("click", (event) => {
      const { column } = event.target.dataset;
      if (column !== undefined) actions.hide(Number(column), !hidden.includes(Number(column)));
    });
  }
  const show = ({ row, column }) => {
    const seen = row === null ? null : weights[row],
      most = seen ? Math.max(...seen, 1e-9) : 1;
    cells.forEach((cell, index) =>
      cell.setAttribute("fill-opacity", seen ? (VEIL * (1 - seen[index] / most)).toFixed(3) : 0),
    );
    caption.textContent = label(row);
    strip.forEach((thumb, index) => thumb.setAttribute("aria-pressed", String(words[index].row === row)));
    ring.setAttribute("visibility", column === null ? "hidden" : "visible");
    if (column !== null) {
      ring.setAttribute("x", (column % side) * (LARGE / side));
      ring.setAttribute("y", Math.floor(column / side) * (LARGE / side));
    }
    if (document.activeElement === svg) svg.setAttribute("aria-label", describe(row, column));
  };
  show(select.get());
  select.listen(show);
  return { svg, strip: element("div", { class: "strip" }, strip) };
}

function thumbnail(record, weights, label, click) {
  const { side, uri } = record.image,
    most = Math.max(...weights, 1e-9);
  const veil = weights.map((weight, cell) =>
    square(cell, side, SMALL, {
      class: "veil",
      "shape-rendering": "crispEdges",
      "fill-opacity": (VEIL * (1 - weight / most)).toFixed(3),
    }),
  );
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${SMALL} ${SMALL}`, width: SMALL, height: SMALL, "aria-hidden": "true" },
    drawn("image", { href: uri, width: SMALL, height: SMALL }),
    veil,
  );
  return element(
    "button",
    { type: "button", class: "thumb word-thumb", click, "aria-pressed": "false" },
    svg,
    element("bdi", {}, label),
  );
}

function square(cell, side, width, attributes) {
  const edge = width / side;
  return drawn("rect", {
    ...attributes,
    x: (cell % side) * edge,
    y: Math.floor(cell / side) * edge,
    width: edge,
    height: edge,
  });
}
