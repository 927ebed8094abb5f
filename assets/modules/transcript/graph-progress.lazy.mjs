/** The nodes of a user graph that are at work, and the newest lines that it has streamed. */
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

loadStyle(new URL("./graph-progress.lazy.css", import.meta.url));

/** @param {{progress: import("../lib/types.mjs").GraphProgressView}} props */
export function GraphProgress({ progress: { nodes, lines } }) {
  return h(
    "div",
    { className: "graph-progress quiet", "data-testid": "graph-progress" },
    lines.map((line, place) => h("p", { key: place }, line)),
    nodes.length > 0 && h("ul", { "aria-label": _("Nodes at work") }, nodes.map((node) => h("li", { key: node }, node))),
  );
}
