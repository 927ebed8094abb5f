/** The card of a note that stands for messages. */
import { count, figure } from "../format.mjs";
import { icon } from "../icons.mjs";
import { Prose } from "../messages.mjs";
import { say } from "../toast.mjs";

const { createElement: h, useState } = window.React;
const { createPortal } = window.ReactDOM;

/** @typedef {{removed: number, before: number, after: number, sources: string[], address: string}} SummaryView */

/** @param {{message: import("../messages.mjs").MessageView, act: Function}} props */
export function Summary({ message, act }) {
  const { removed, before, after, sources, address } = message.summary;
  const [FullText, setFullText] = useState(null);
  const show = () => {
    import("./full-text.mjs").then(
      (module) => setFullText(() => module.FullText),
      () => say("The full text could not be shown; please try again."),
    );
  };
  const title = `${count(removed, "message")} summarised`;
  return h(
    "details",
    { className: "tool summary" },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-preview" }, title),
      h("span", { className: "tool-time", title: "Tokens, about" }, `${figure(before)} → ${count(after, "token")}`),
    ),
    h(
      "div",
      { className: "tool-body" },
      h(Prose, { html: message.html }),
      sources.length > 0 && h("p", { className: "quiet" }, `Written after reading ${sources.join(", ")}.`),
      h("button", { type: "button", className: "text-button", onClick: show }, "Show the full text"),
    ),
    FullText && createPortal(h(FullText, { title, address, act, onClose: () => setFullText(null) }), document.body),
  );
}
