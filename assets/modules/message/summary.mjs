/** Notes: the card of a summary, and the line under a move of the agent. */
import { icon } from "../controls/icons.mjs";
import { formatCount, formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { FullText } from "./full-text.mjs";
import { Prose } from "./prose.mjs";
import { ShowAll } from "./show-all.mjs";

const { Fragment, createElement: h, useState } = window.React;
const { createPortal } = window.ReactDOM;

/** @param {{title: string, address: string, act: Function|null}} props */
function ShowFullText({ title, address, act }) {
  const [isOpen, setOpen] = useState(false);
  return h(
    Fragment,
    null,
    h("button", { type: "button", className: "text-button", onClick: () => setOpen(true) }, _("Show the full text")),
    isOpen && createPortal(h(FullText, { title, address, act, onClose: () => setOpen(false) }), document.body),
  );
}

const formatReduction = ({ before, after }) => `${formatNumber(before)} → ${formatCount(after, "token")}`;

/** @param {{message: import("../state/types.mjs").MessageView, act: Function|null}} props */
export function Removal({ message: { left }, act }) {
  if (left === null) return null;
  const { removed, address } = left;
  return h(
    "p",
    { className: "note-left quiet" },
    h("span", { title: _("Tokens, about") }, formatReduction(left)),
    h(ShowFullText, { title: _("{messages} removed", { messages: formatCount(removed, "message") }), address, act }),
  );
}

/** @param {{message: import("../state/types.mjs").MessageView, act: Function|null}} props */
export function Summary({ message, act }) {
  if (message.summary === null) return null;
  const { removed, sources, address } = message.summary;
  const title = _("{messages} summarised", { messages: formatCount(removed, "message") });
  return h(
    "details",
    { className: "tool summary" },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-preview" }, title),
      h("span", { className: "tool-time", title: _("Tokens, about") }, formatReduction(message.summary)),
    ),
    h(
      "div",
      { className: "tool-body" },
      h(Prose, { html: message.html }),
      h(ShowAll, { more: message.more }),
      sources.length > 0 &&
        h("p", { className: "quiet" }, _("Written after reading {sources}.", { sources: sources.join(", ") })),
      h(ShowFullText, { title, address, act }),
    ),
  );
}
