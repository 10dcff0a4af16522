// A figure with its title and the ways to save it: SVG as it is seen, PNG of twice its size.

import { button, element } from "./dom.js";

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "visibility",
  "display",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
];
const ZOOM = 2;

export function figure(svg, title, name, ...more) {
  const bar = element(
    "figcaption",
    {},
    element("span", {}, title),
    element(
      "span",
      { class: "save" },
      button("SVG", () => saveSvg(svg, name), { "aria-label": `save ${title} as SVG` }),
      button("PNG", () => savePng(svg, name), { "aria-label": `save ${title} as PNG` }),
    ),
  );
  svg.style.width = `${svg.viewBox.baseVal.width / 16}rem`; // grows with the font on a projector
  return element(
    "figure",
    { class: `of-${name}` },
    bar,
    element("div", { class: "body" }, element("div", { class: "scroll" }, svg), more),
  );
}

// The SVG with the colours and fonts of now in it, on the colour of the page.
export function standalone(svg) {
  const copy = svg.cloneNode(true),
    box = svg.viewBox.baseVal;
  const from = [svg, ...svg.querySelectorAll("*")],
    to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, index) => {
    const style = getComputedStyle(node);
    for (const name of KEPT) to[index].setAttribute(name, style.getPropertyValue(name));
    to[index].removeAttribute("class");
    to[index].removeAttribute("tabindex");
  });
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  const sizes = {
    x: box.x,
    y: box.y,
    width: box.width,
    height: box.height,
    fill: getComputedStyle(document.body).backgroundColor,
  };
  for (const [name, value] of Object.entries(sizes)) paper.setAttribute(name, value);
  copy.prepend(paper);
  copy.setAttribute("xmlns", svg.namespaceURI);
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.setAttribute("role", "img");
  return new XMLSerializer().serializeToString(copy);
}

function saveSvg(svg, name) {
  download(new Blob([standalone(svg)], { type: "image/svg+xml" }), `${name}.svg`);
}

async function savePng(svg, name) {
  const { width, height } = svg.viewBox.baseVal,
    image = new Image();
  image.src = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = element("canvas", { width: Math.ceil(width * ZOOM), height: Math.ceil(height * ZOOM) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  canvas.toBlob((blob) => download(blob, `${name}.png`));
}

export function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
