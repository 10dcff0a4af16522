// The view of the record in the page's data.

import { element } from "./dom.js";
import { plainly } from "./tokens.js";
import { traceView } from "./trace-view.js";
import { treeView } from "./tree.js";

const record = JSON.parse(document.getElementById("data").textContent);
const view = record.kind === "tree" ? treeView(record) : traceView(record);
document.body.append(
  element(
    "main",
    { class: "viewer" },
    element("h1", { dir: "auto", class: record.predictions?.length ? "unseen" : null }, plainly(record.title)),
    view,
  ),
);
