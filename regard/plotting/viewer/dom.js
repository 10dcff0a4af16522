// Elements without markup: what is given as text is shown as text. Styles are set one by one, which a strict
// Content-Security-Policy allows.

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "style") for (const [name, part] of Object.entries(value)) node.style.setProperty(name, part);
    else if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function button(text, click, attributes = {}) {
  return element("button", { type: "button", click, ...attributes }, text);
}

// Buttons of which one is pressed. choices: [value, text, name where the text alone does not say it]
export function choice(label, choices, chosen, choose) {
  const buttons = choices.map(([value, text, name]) =>
    button(text, () => choose(value), { "aria-pressed": String(value === chosen), title: name, "aria-label": name }),
  );
  return element("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

// What is drawn anew keeps the focus of the keyboard: it goes to the control of the same name.
export function keepingFocus(root, redraw) {
  const name = (control) => control.getAttribute("aria-label") ?? control.textContent;
  const focused = root.contains(document.activeElement) ? name(document.activeElement) : null;
  redraw();
  if (focused === null || root.contains(document.activeElement)) return;
  const controls = [...root.querySelectorAll("button, select, summary, [tabindex]")];
  controls.find((control) => name(control) === focused)?.focus({ preventScroll: true });
}

let ruler = null;

// The text cut to a width in pixels, at a font size of the interface.
export function shortened(text, width, size) {
  if (measured(text, size) <= width) return text;
  let letters = [...text];
  while (letters.length > 1 && measured(`${letters.join("")}…`, size) > width) letters = letters.slice(0, -1);
  return `${letters.join("")}…`;
}

export function measured(text, size) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}
