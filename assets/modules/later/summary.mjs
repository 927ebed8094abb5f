/** What a note stands for: the card of a summary, and the line under a move of the agent. */
import { count, figure } from "../format.mjs";
import { icon } from "../icons.mjs";
import { Prose } from "../messages.mjs";
import { say } from "../toast.mjs";

const { Fragment, createElement: h, useState } = window.React;
const { createPortal } = window.ReactDOM;

/**
 * @typedef {{removed: number, before: number, after: number, address: string}} GoneView
 * @typedef {GoneView & {sources: string[]}} SummaryView
 */

/** @param {{title: string, address: string, act: Function}} props */
function ShowFullText({ title, address, act }) {
  const [FullText, setFullText] = useState(null);
  const show = () => {
    import("./full-text.mjs").then(
      (module) => setFullText(() => module.FullText),
      () => say("The full text could not be shown; please try again."),
    );
  };
  return h(
    Fragment,
    null,
    h("button", { type: "button", className: "text-button", onClick: show }, "Show the full text"),
    FullText && createPortal(h(FullText, { title, address, act, onClose: () => setFullText(null) }), document.body),
  );
}

const tokens = ({ before, after }) => `${figure(before)} → ${count(after, "token")}`;

/** @param {{message: import("../messages.mjs").MessageView, act: Function}} props */
export function Left({ message, act }) {
  const { removed, address } = message.left;
  return h(
    "p",
    { className: "note-left quiet" },
    h("span", { title: "Tokens, about" }, tokens(message.left)),
    h(ShowFullText, { title: `${count(removed, "message")} removed`, address, act }),
  );
}

/** @param {{message: import("../messages.mjs").MessageView, act: Function}} props */
export function Summary({ message, act }) {
  const { removed, sources, address } = message.summary;
  const title = `${count(removed, "message")} summarised`;
  return h(
    "details",
    { className: "tool summary" },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-preview" }, title),
      h("span", { className: "tool-time", title: "Tokens, about" }, tokens(message.summary)),
    ),
    h(
      "div",
      { className: "tool-body" },
      h(Prose, { html: message.html }),
      sources.length > 0 && h("p", { className: "quiet" }, `Written after reading ${sources.join(", ")}.`),
      h(ShowFullText, { title, address, act }),
    ),
  );
}
