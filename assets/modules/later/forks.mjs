/** The ways that the agent tries at once: on the card of the call, each prompt with its branch. */
import { icon } from "../icons.mjs";

const { createElement: h } = window.React;

/** @typedef {{branch: string, name: string, done: boolean}} WayView */

/** @param {import("../messages.mjs").ToolView} tool @returns {string[]} what the call asks for; empty for one that asks wrongly */
function prompts(tool) {
  try {
    const given = JSON.parse(tool.arguments).prompts;
    return Array.isArray(given) ? given.map(String) : [];
  } catch {
    return [];
  }
}

/** "3 of 5 done" */
export function WaysDone({ tool }) {
  const all = tool.ways.length || prompts(tool).length;
  const ways = `${all} way${all === 1 ? "" : "s"}`;
  return tool.ways.length > 0 ? `${tool.ways.filter((way) => way.done).length} of ${all} done` : ways;
}

/** @param {{tool: import("../messages.mjs").ToolView, act: Function|null}} props */
export function Ways({ tool, act }) {
  if (tool.ways.length === 0) return h("ol", { className: "ways" }, prompts(tool).map((text, place) => h("li", { key: place }, text)));
  const isRunning = tool.status === "running";
  return h(
    "ol",
    { className: "ways" },
    tool.ways.map((way) => h(Way, { key: way.branch, way, isRunning, act })),
  );
}

function Way({ way, isRunning, act }) {
  const state = way.done ? "done" : isRunning ? "running" : "not finished";
  const sign = way.done ? icon("check-lg") : isRunning ? h("span", { className: "spinner" }) : icon("stop-circle");
  return h(
    "li",
    { className: "way", "data-testid": "way", "data-state": state },
    h("span", { className: "way-name" }, way.name),
    h("span", { className: "tool-sign" }, sign, h("span", { className: "visually-hidden" }, state)),
    act &&
      !isRunning && // the conversation stays where it is while the run is at work
      h("button", { type: "button", className: "text-button", "aria-label": `Open ${way.name}`, onClick: () => act("switch", { branch: way.branch }) }, "Open"),
  );
}
