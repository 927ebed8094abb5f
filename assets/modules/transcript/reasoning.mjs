/** The folded card with the reasoning before an answer: of a message, and of the answer that is being written. */
import { icon } from "../controls/icons.mjs";
import { ShowAll } from "../message/show-all.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

/** @param {number|null} durationMs null: it is unknown; below 0: it goes on */
export function nameReasoning(durationMs) {
  if (durationMs !== null && durationMs < 0) return _("Thinking…");
  if (durationMs === null || durationMs < 1000) return _("Thought");
  return _("Thought for {durationMs} s", { durationMs: Math.round(durationMs / 1000) });
}

function Card({ label, text, more, cardRef, hidden }) {
  return h(
    "details",
    { className: "fold reasoning", "data-testid": "reasoning", ref: cardRef, hidden },
    h("summary", null, icon("chevron-right", "fold-arrow"), h("span", { className: "reasoning-label" }, label)),
    h("div", { className: "reasoning-text", tabIndex: 0, role: "group", "aria-label": _("Reasoning") }, text),
    more && h(ShowAll, { more }),
  );
}

/** @param {{reasoning: import("../state/types.mjs").ReasoningView}} props */
export function Reasoning({ reasoning }) {
  return h(Card, { label: nameReasoning(reasoning.duration_ms), text: reasoning.text, more: reasoning.more });
}

/** React renders it once, hidden; `LiveAnswer` shows it and writes into it. @param {{cardRef: Function}} props */
export const LiveReasoning = ({ cardRef }) => h(Card, { label: nameReasoning(-1), text: null, cardRef, hidden: true });
