/** Notes: the card of a summary, and the line under a move of the agent. */
import { icon } from "../controls/icons.mjs";
import { formatCount, formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { FullText } from "./full-text.mjs";
import { Prose } from "./prose.mjs";
import { ShowAll } from "./show-all.mjs";

const { createElement: h } = window.React;

const formatReduction = ({ before, after }) => `${formatNumber(before)} → ${formatCount(after, "token")}`;

/** @param {{left: import("../state/types.mjs").RemovalView, act: Function|null}} props */
export function Removal({ left, act }) {
  const { removed, address } = left;
  return h(
    "p",
    { className: "note-left quiet" },
    h("span", { title: _("Tokens, about") }, formatReduction(left)),
    h(FullText, { title: _("{messages} removed", { messages: formatCount(removed, "message") }), address, act }),
  );
}

/** @param {{message: import("../state/types.mjs").MessageView, summary: import("../state/types.mjs").SummaryView, act:
 *   Function|null}} props */
export function Summary({ message: { html, more }, summary, act }) {
  const { removed, sources, address } = summary;
  const title = _("{messages} summarised", { messages: formatCount(removed, "message") });
  return h(
    "details",
    { className: "tool summary" },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-preview" }, title),
      h("span", { className: "tool-time", title: _("Tokens, about") }, formatReduction(summary)),
    ),
    h(
      "div",
      { className: "tool-body" },
      h(Prose, { html }),
      h(ShowAll, { more }),
      sources.length > 0 &&
        h("p", { className: "quiet" }, _("Written after reading {sources}.", { sources: sources.join(", ") })),
      h(FullText, { title, address, act }),
    ),
  );
}
