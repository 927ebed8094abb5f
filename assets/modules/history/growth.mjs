/** A plot of the conversation's tokens, with its checkpoints and the tokens that summaries saved. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

const GONE_TEXT = _("This conversation no longer exists.");
const MARK_COLUMNS = 60; // equal parts of the width; only the last checkpoint in each is drawn

/**
 * @typedef {{points: {messages: number, tokens: number}[], drops: {messages: number, before: number, after: number,
 *   text: string}[], most: number, text: string, end: string}} GrowthView
 * @param {{data: import("../state/types.mjs").BegunHistory,
 *   onShow: (checkpoint: import("../state/types.mjs").CheckpointView) => void}} props
 */
export function Growth({ data, onShow }) {
  const { content, status } = useFetch(buildThreadApi(data.thread, "growth"), GONE_TEXT, data.version);
  if (!content) return h("p", { className: "quiet", role: "status" }, status);
  if (content.points.length < 2) return h("p", { className: "growth-saved" }, content.text);
  return h(Plot, { growth: content, checkpoints: data.checkpoints, onShow });
}

/** @param {{growth: GrowthView, checkpoints: import("../state/types.mjs").CheckpointView[], onShow: Function}} props */
function Plot({ growth: { points, drops, most, text, end }, checkpoints, onShow }) {
  const last = points[points.length - 1];
  const x = (messages) => (100 * (messages - 1)) / (last.messages - 1);
  const y = (tokens) => 100 - (100 * tokens) / Math.max(1, most);
  const line = points.map(({ messages, tokens }) => `${x(messages)},${y(tokens)}`).join(" ");
  const findTokensAt = (messages) => (points.findLast((point) => point.messages <= messages) ?? points[0]).tokens;
  return h(
    "figure",
    { className: "growth" },
    h("p", { className: "growth-axis", "aria-hidden": true }, _("{tokens} (peak)", { tokens: formatCount(most, "token") })),
    h(
      "div",
      { className: "growth-plot" },
      h(
        "svg",
        { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": text },
        h("polygon", { className: "growth-area", points: `0,100 ${line} 100,100` }),
        h("polyline", { className: "growth-line", points: line }),
        drops.map(({ messages: key, before, after }) =>
          h("line", { key, className: "growth-drop", x1: x(key), x2: x(key), y1: y(before), y2: y(after) })),
      ),
      drops.map((drop) => h(Saving, { key: drop.messages, drop, place: x(drop.messages), height: y(drop.before) })),
      pickMarks(checkpoints, last.messages).map((checkpoint) =>
        h("button", {
          key: checkpoint.id, type: "button", className: "growth-mark",
          tabIndex: -1, // the list below has each of them, for the keyboard as well
          "aria-hidden": true,
          title: `${checkpoint.name} · ${formatCount(checkpoint.tokens ?? findTokensAt(checkpoint.messages), "token")}`,
          style: { left: `${x(checkpoint.messages)}%`, top: `${y(findTokensAt(checkpoint.messages))}%` },
          onClick: () => onShow(checkpoint),
        }),
      ),
    ),
    h("figcaption", null, h("span", null, _("message {messages}", { messages: 1 })), h("span", null, end)),
    drops.map((drop) => h("p", { key: drop.messages, className: "growth-saved" }, drop.text)),
  );
}

/** The tokens that a summary or a move saved, where that happened. */
function Saving({ drop, place, height }) {
  const style = { top: `${height}%`, ...(place > 50 ? { right: `${100 - place}%` } : { left: `${place}%` }) };
  return h(
    "span",
    { className: "growth-saving", "aria-hidden": true, style },
    `−${formatCount(Math.max(0, drop.before - drop.after), "token")}`,
  );
}

/** Pick the checkpoints that are distinguishable at this width: the last one in each column. */
function pickMarks(checkpoints, messages) {
  const places = new Map();
  for (const checkpoint of checkpoints) {
    if (!checkpoint.detached) places.set(Math.round((MARK_COLUMNS * checkpoint.messages) / messages), checkpoint);
  }
  return [...places.values()];
}
