/** One tip of the first run: a sentence, and the button that ends it. */
import { loadStyle } from "./style.lazy.mjs";
import { _ } from "./words.mjs";

const { createElement: h } = window.React;

const TEXTS = {
  field: _("Write a message, or type / for commands."),
  history: _("History draws the whole conversation: choose a place in it to go back, to branch or to compare."),
  checkpoint: _(
    "Save a checkpoint when you like where things are: it appears here as a diamond, and you can always come back to it.",
  ),
};

loadStyle(new URL("./tip.lazy.css", import.meta.url));

/** @param {{name: import("./tips.mjs").TipName, id: string, onRead: () => void}} props */
export function Tip({ name, id, onRead }) {
  return h(
    "div",
    { className: `tip tip-${name}`, role: "note", "aria-label": _("Tip"), "data-testid": "tip" },
    h("p", { id }, TEXTS[name]),
    h("button", { type: "button", className: "quiet-button", "aria-describedby": id, onClick: onRead }, _("Got it")),
  );
}
