/** A plot of the conversation's tokens, with its checkpoints and the tokens that summaries saved. */
import { useFetch } from "../lib/fetch.lazy.mjs";
import { count, figure } from "../lib/format.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";

const { createElement: h } = window.React;

const GONE = "This conversation no longer exists.";
const SHARES = 60; // of the width; only the last checkpoint in each share is drawn

loadStyle(new URL("./growth.lazy.css", import.meta.url));

/**
 * @typedef {{points: {messages: number, tokens: number}[], drops: {messages: number, before: number, after: number}[],
 *   most: number}} GrowthView
 * @param {{data: import("../lib/types.mjs").TimelineData, onShow: (checkpoint: import("../lib/types.mjs").CheckpointView) => void}} props
 */
export function Growth({ data, onShow }) {
  const { found, status } = useFetch(`/api/threads/${data.thread}/growth`, GONE, data.version);
  if (!found) return h("p", { className: "quiet", role: "status" }, status);
  if (found.points.length < 2) return h("p", { className: "growth-saved" }, found.points.length ? describeGrowth(found.points[0], found.drops) : "No messages yet.");
  return h(Plot, { growth: found, checkpoints: data.checkpoints, onShow });
}

/** @param {{growth: GrowthView, checkpoints: import("../lib/types.mjs").CheckpointView[], onShow: Function}} props */
function Plot({ growth: { points, drops, most }, checkpoints, onShow }) {
  const last = points.at(-1);
  const x = (messages) => (100 * (messages - 1)) / (last.messages - 1);
  const y = (tokens) => 100 - (100 * tokens) / Math.max(1, most);
  const line = points.map(({ messages, tokens }) => `${x(messages)},${y(tokens)}`).join(" ");
  const at = (messages) => (points.findLast((point) => point.messages <= messages) ?? points[0]).tokens;
  return h(
    "figure",
    { className: "growth" },
    h(
      "div",
      { className: "growth-plot" },
      h(
        "svg",
        { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": describeGrowth(last, drops) },
        h("polygon", { className: "growth-area", points: `0,100 ${line} 100,100` }),
        h("polyline", { className: "growth-line", points: line }),
        drops.map((drop) => h("line", { key: drop.messages, className: "growth-drop", x1: x(drop.messages), x2: x(drop.messages), y1: y(drop.before), y2: y(drop.after) })),
      ),
      pickMarks(checkpoints, last.messages).map((checkpoint) =>
        h("button", {
          key: checkpoint.id,
          type: "button",
          className: "growth-mark",
          tabIndex: -1, // the list below has each of them, for the keyboard as well
          "aria-hidden": true,
          title: `${checkpoint.name} · ${count(checkpoint.tokens ?? at(checkpoint.messages), "token")}`,
          style: { left: `${x(checkpoint.messages)}%`, top: `${y(at(checkpoint.messages))}%` },
          onClick: () => onShow(checkpoint),
        }),
      ),
    ),
    h("figcaption", null, h("span", null, `About ${count(last.tokens, "token")}`), h("span", null, `at most ${figure(most)}`)),
    drops.length > 0 && h("p", { className: "growth-saved" }, describeSaving(drops.at(-1))),
  );
}

/** Pick the checkpoints that are distinguishable at this width: the last one in each share. */
function pickMarks(checkpoints, messages) {
  const places = new Map();
  for (const checkpoint of checkpoints) {
    if (checkpoint.message !== null) places.set(Math.round((SHARES * checkpoint.messages) / messages), checkpoint);
  }
  return [...places.values()];
}

const describeSaving = ({ messages, before, after }) => `At message ${figure(messages)}, about ${figure(before)} were reduced to ${figure(after)}.`;

/** Describe the plot in words. */
const describeGrowth = (last, drops) => [`The conversation uses about ${count(last.tokens, "token")} after ${count(last.messages, "message")}.`, ...drops.map(describeSaving)].join(" ");
