// Every head of every map, small; a click shows it large.

import { element } from "./dom.js";
import { headName } from "./maps.js";

const SIDE = 72;

// changed(name) is "silent", "uniform" or null
export function allHeads(record, chosen, choose, changed) {
  const rows = record.maps.map((map) => {
    const thumbs = map.weights.map((weights, head) => {
      const alone = map.weights.length === 1;
      const pressed = chosen.map === map.name && (alone || chosen.head === head);
      const change = changed(headName(map, head)) ?? changed(map.name);
      const label = `${map.name}${alone ? "" : `, head ${head}`}${change ? `, ${change}` : ""}`;
      const attributes = {
        type: "button",
        class: `thumb ${change ?? ""}`,
        "aria-pressed": String(pressed),
        "aria-label": label,
        title: label,
      };
      return element(
        "button",
        { ...attributes, click: () => choose(map.name, alone ? null : head) },
        small(weights),
        element("span", {}, change ?? (alone ? "" : String(head))),
      );
    });
    return element("div", { class: "layer" }, element("h3", {}, map.name), element("div", { class: "thumbs" }, thumbs));
  });
  return element("div", { class: "all-heads" }, rows);
}

// One pixel a cell, enlarged by the style sheet. A mask of the weights, so that colours follow the scheme.
function small(weights) {
  const [height, width] = [weights.length, weights[0]?.length ?? 0];
  const canvas = element("canvas", { width: Math.max(width, 1), height: Math.max(height, 1), "aria-hidden": "true" });
  const scale = SIDE / Math.max(width, height, 1);
  canvas.style.width = `${Math.max(14, width * scale)}px`;
  canvas.style.height = `${Math.max(14, height * scale)}px`;
  if (!width) return canvas;
  const pixels = new ImageData(width, height);
  const [red, green, blue] = colour();
  weights.forEach((row, t) =>
    row.forEach((weight, s) =>
      pixels.data.set([red, green, blue, Math.round(255 * Math.max(0.04, weight ** 0.7))], 4 * (t * width + s)),
    ),
  );
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

function colour() {
  const text = getComputedStyle(document.documentElement).getPropertyValue("--heat-rgb");
  return text.trim() ? text.split(",").map(Number) : [11, 61, 145];
}
