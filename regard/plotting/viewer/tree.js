// A beam search as a tree: a column a step, the most probable at the top. Arrow keys step through it.

import { button, drawn, element, shortened } from "./dom.js";
import { figure } from "./save.js";
import { percent, plainly, visible } from "./tokens.js";

const WIDTH = 116,
  HEIGHT = 38,
  ACROSS = 150,
  DOWN = 50,
  LEFT = 12,
  TOP = 34;
const STATES = { best: "on the way to the best", kept: "an end was reached from it", pruned: "dropped before any end" };

export function treeView(record, settings = {}) {
  const columns = [
    [{ token: record.root, id: -1, parent: null, text: "", log_prob: 0, score: null, state: "best" }],
    ...record.steps,
  ];
  const last = columns.length - 1;
  const deepest = () =>
    Math.max(...columns.map((nodes, step) => (nodes.some((node) => node.state === "best") ? step : 0)));
  const best = (step) =>
    Math.max(
      0,
      columns[step].findIndex((node) => node.state === "best"),
    );
  let now = { step: settings.step ?? last, row: 0, shown: last };
  now.step = Math.min(now.step, last, settings.step ?? deepest());
  now.row = best(now.step);

  const x = (step) => LEFT + step * ACROSS,
    y = (row) => TOP + row * DOWN;
  const boxes = [],
    edges = [];
  columns.forEach((nodes, step) =>
    nodes.forEach((node, row) => {
      if (step)
        edges.push(
          Object.assign(edge(x(step - 1) + WIDTH, y(node.parent), x(step), y(row), node.state), { step, row }),
        );
      boxes.push(
        Object.assign(
          box(node, x(step), y(row), () => go(step, row)),
          { step, row },
        ),
      );
    }),
  );
  const numbers = columns.map((_, step) =>
    drawn("text", { class: "note", x: x(step), y: 16 }, step ? `step ${step}` : "start"),
  );
  const height = TOP + Math.max(...columns.map((nodes) => nodes.length)) * DOWN,
    width = x(last) + WIDTH + LEFT;
  const svg = drawn(
    "svg",
    {
      class: "tree",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      tabindex: 0,
      role: "application",
      "aria-roledescription": "beam search tree",
    },
    numbers,
    edges,
    boxes,
  );
  const detail = element("p", { class: "detail", role: "status" });
  const place = element("span", { class: "number" });

  function way() {
    const nodes = new Set();
    for (let { step, row } = now; row !== null && step >= 0; step -= 1) {
      nodes.add(`${step}/${row}`);
      row = columns[step][row].parent;
    }
    return nodes;
  }

  function go(step, row, shown = now.shown) {
    now = { step: Math.max(0, Math.min(last, step)), row, shown: Math.max(shown, Math.min(last, step)) };
    now.row = Math.max(0, Math.min(columns[now.step].length - 1, now.row));
    const on = way(),
      node = columns[now.step][now.row];
    for (const part of [...boxes, ...edges]) {
      part.classList.toggle("later", part.step > now.shown);
      part.classList.toggle("on", on.has(`${part.step}/${part.row}`));
    }
    for (const part of boxes) part.classList.toggle("here", part.step === now.step && part.row === now.row);
    place.textContent = `step ${now.step} of ${last}`;
    const text = describe(node);
    detail.textContent = text;
    svg.setAttribute("aria-label", `step ${now.step}, ${now.row + 1} of ${columns[now.step].length}: ${text}`);
    const here = boxes.find((part) => part.classList.contains("here"));
    if (document.activeElement === svg) here.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    settings.changed?.({ step: now.step });
  }

  // Forward: the way of the best as far as it goes; what comes later is not shown yet.
  function step(by) {
    const to = Math.max(0, Math.min(last, now.step + by));
    const parent = columns[now.step][now.row].parent;
    const children = columns[to]
      .map((node, row) => ({ node, row }))
      .filter(({ node }) => by > 0 && node.parent === now.row);
    const child = children.find(({ node }) => node.state === "best") ?? children[0];
    go(to, by < 0 ? (to === now.step ? now.row : parent) : (child?.row ?? best(to)), to);
  }

  svg.addEventListener("keydown", (event) => {
    const keys = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowDown: () => go(now.step, now.row + 1),
      ArrowUp: () => go(now.step, now.row - 1),
      Home: () => go(0, 0, 0),
      End: () => go(deepest(), best(deepest()), last),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    now.shown = event.key === "ArrowLeft" ? now.step : now.shown;
    keys[event.key]();
  });
  const controls = element(
    "div",
    { class: "controls" },
    button("⇤", () => go(0, 0, (now.shown = 0)), { "aria-label": "to the start" }),
    button(
      "←",
      () => {
        now.shown = 0;
        step(-1);
      },
      { "aria-label": "one step back" },
    ),
    button("→", () => step(1), { "aria-label": "one step on" }),
    button("⇥", () => go(deepest(), best(deepest()), last), { "aria-label": "to the end" }),
    place,
  );
  const node = element(
    "article",
    { class: "tree-view" },
    controls,
    figure(svg, "The search", "beam-tree"),
    detail,
    element(
      "p",
      { class: "note" },
      "Blue: the way to the best output. Pale: dropped before any end. ■ ended there. ",
      "Arrow keys move from step to step and from row to row.",
    ),
  );
  go(now.step, now.row, last);
  return node;
}

function describe(node) {
  if (node.parent === null) return "the start";
  const ended = node.score === null ? "" : `; ended, length-normalised score ${node.score.toFixed(3)}`;
  const probability = `log-probability ${node.log_prob.toFixed(3)} (${percent(Math.exp(node.log_prob))})`;
  return `${plainly(node.text) || "nothing yet"} — ${probability}${ended}; ${STATES[node.state]}`;
}

function box(node, x, y, click) {
  const ended = node.score !== null;
  const numbers =
    node.parent === null ? "" : `${node.log_prob.toFixed(2)}${ended ? `  ■ ${node.score.toFixed(2)}` : ""}`;
  return drawn(
    "g",
    { class: `node ${node.state}`, transform: `translate(${x} ${y})`, click },
    drawn("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 6 }),
    drawn("text", { class: "label", x: 9, y: 16 }, shortened(ended ? "■ end" : visible(node.token), WIDTH - 16, 13)),
    drawn("text", { class: "note", x: 9, y: 31 }, numbers),
  );
}

function edge(x, y, toX, toY, state) {
  const [from, to, middle] = [y + HEIGHT / 2, toY + HEIGHT / 2, (x + toX) / 2];
  return drawn("path", { class: `edge ${state}`, d: `M${x} ${from} C${middle} ${from} ${middle} ${to} ${toX} ${to}` });
}
