// The two sentences of a trace: the source, whose words can be hidden, and the output,
// shaded where the model was unsure.

import { button, element } from "./dom.js";
import { changedFrom, isMark, percent, plainly, visible } from "./tokens.js";

// actions.hide(word, hidden) hides or shows a word of the source
export function sourceSentence(record, on, actions) {
  const side = record.given ? "output" : "source"; // a language model continues its text
  const tokens = record.given ? record.output_tokens : record.source_tokens;
  const word = (text, places, index, hidden) => {
    const pieces = places.map((place) => token(tokens[place], place, on, { "data-side": side }));
    const shown = hidden ? element("del", {}, plainly(text)) : element("span", {}, pieces);
    const gap = hidden && index ? " " : null;
    if (!actions.hide || index === null) return [gap, shown];
    const label = hidden ? `show “${text}” to the model again` : `hide “${text}” from the model`;
    const hide = () => actions.hide(index, !hidden);
    const toggle = button(hidden ? "↺" : "×", hide, { class: "hide", "aria-label": label, title: label });
    return [gap, element("span", { class: "word" }, shown, toggle)];
  };
  const parts = record.source_words.map((one, index) => word(one.text, one.tokens, index, one.hidden));
  const known = new Set(record.source_words.flatMap((one) => one.tokens));
  if (!record.given) tokens.forEach((text, place) => known.has(place) || parts.push(word(text, [place], null, false)));
  return element("p", { class: "sentence", dir: "auto" }, parts);
}

// on.open(place) is called when a token is chosen; before: the record without the changes, to mark what differs
export function outputSentence(record, on, before) {
  const differs = before ? changedFrom(before.output_tokens, record.output_tokens) : new Set();
  const parts = record.output_tokens.map((text, place) => {
    const known = record.predictions[place];
    if (place < record.given) return null;
    const sure = known ? Math.exp(known.log_prob) : 1;
    const title = known ? `${visible(text)}: ${percent(sure)}` : visible(text);
    const kind = differs.has(place) ? "differs" : "";
    const style = { "--unsure": `${Math.round(70 * (1 - sure))}%` };
    return token(text, place, on, {
      "data-side": "output",
      class: kind,
      style,
      title,
      click: () => on.open(place),
      "aria-expanded": "false",
    });
  });
  return element("p", { class: "sentence output", dir: "auto", keydown: fromTokenToToken }, parts);
}

function fromTokenToToken(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tokens = [...event.currentTarget.querySelectorAll("button.token")];
  const next = tokens[tokens.indexOf(document.activeElement) + step];
  if (!step || !next) return;
  event.preventDefault();
  next.focus();
}

function token(text, place, on, attributes) {
  const shown = isMark(text) ? visible(text) : plainly(text);
  const body = shown.replace(/\n/g, "⏎") || visible(text);
  const space = shown.startsWith(" ") && shown.trim() ? " " : "";
  const name = attributes.click ? "button" : "span";
  const over = {
    pointerenter: () => on.point(attributes["data-side"], place),
    pointerleave: () => on.point(null, null),
    focus: () => on.point(attributes["data-side"], place),
  };
  const kind = `token ${attributes.class ?? ""} ${isMark(text) ? "mark" : ""}`;
  return [
    space,
    element(
      name,
      { ...attributes, type: attributes.click ? "button" : null, "data-place": place, ...over, class: kind },
      element("bdi", {}, body.trim() || body),
    ),
  ];
}

// What the model would have said at a position. actions.choose(place, id) rewrites the output from there.
export function alternativesPanel(record, place, actions, close) {
  const known = record.predictions[place];
  // after the first token, a word without a space before it continues the last one: 15, but …15
  const spaced = place > record.given && known.alternatives.some((one) => one.token.startsWith(" "));
  const label = ({ token }) =>
    spaced && /^[^ ]/.test(token) && !isMark(token) ? `…${visible(token)}` : visible(token);
  const prior =
    record.task === "classification"
      ? "The classes"
      : `What could stand here instead of ${visible(record.output_tokens[place])}`;
  const rows = known.alternatives.map((one) => {
    const share = Math.exp(one.log_prob),
      here = one.id === known.id;
    const bar = element(
      "span",
      { class: "bar", "aria-hidden": "true" },
      element("span", { style: { width: `${(100 * share).toFixed(1)}%` } }),
    );
    const parts = [element("bdi", {}, label(one)), bar, element("span", { class: "number" }, percent(share))];
    const free = actions.choose && !here && record.task !== "classification";
    const attributes = free ? { type: "button", click: () => actions.choose(place, one.id) } : {};
    return element(
      "li",
      {},
      element(
        free ? "button" : "span",
        { class: "alternative", ...attributes, "aria-current": here ? "true" : null },
        parts,
      ),
    );
  });
  const hint =
    actions.choose && record.task !== "classification" ? "Choose one: the rest is rewritten from there." : null;
  const panel = element(
    "div",
    { class: "alternatives", role: "group", "aria-label": prior },
    element(
      "div",
      { class: "panel-head" },
      element("h3", {}, prior),
      button("×", close, { class: "close", "aria-label": "close" }),
    ),
    element("ol", {}, rows),
    element("p", { class: "note" }, `entropy ${known.entropy.toFixed(2)} nats. `, hint),
  );
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = [...panel.querySelectorAll("button")];
    if (!step) return;
    event.preventDefault();
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  return panel;
}
