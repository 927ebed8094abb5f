/** The agent's parallel attempts, on the card of their fork call: each prompt with its branch. */
import { icon } from "../controls/icons.mjs";
import { _, ngettext } from "../words/words.mjs";

const { createElement: h } = window.React;

const STATES = { done: _("done"), running: _("running"), "not finished": _("not finished") };

/**
 * @param {import("../state/types.mjs").ToolView} tool
 * @returns {string[]} prompts of the call; none if its arguments are malformed
 */
function readPrompts(tool) {
  try {
    const prompts = JSON.parse(tool.arguments).prompts;
    return Array.isArray(prompts) ? prompts.map(String) : [];
  } catch {
    return [];
  }
}

/** "3 of 5 done" */
export function AttemptsDone({ tool }) {
  const all = tool.attempts.length || readPrompts(tool).length;
  const label = ngettext("{count} attempt", "{count} attempts", all);
  return tool.attempts.length > 0
    ? _("{done} of {all} done", { done: tool.attempts.filter((attempt) => attempt.done).length, all })
    : label;
}

/** @param {{tool: import("../state/types.mjs").ToolView, act: Function|null}} props */
export function Attempts({ tool, act }) {
  if (tool.attempts.length === 0)
    return h(
      "ol",
      { className: "attempts" },
      readPrompts(tool).map((text, place) => h("li", { key: place }, text)),
    );
  const isRunning = tool.status === "running";
  return h(
    "ol",
    { className: "attempts" },
    tool.attempts.map((attempt) => h(AttemptRow, { key: attempt.branch, attempt, isRunning, act })),
  );
}

function AttemptRow({ attempt, isRunning, act }) {
  const state = attempt.done ? "done" : isRunning ? "running" : "not finished";
  const sign = attempt.done ? icon("check-lg") : isRunning ? h("span", { className: "spinner" }) : icon("stop-circle");
  return h(
    "li",
    { className: "attempt", "data-testid": "way", "data-state": state },
    h("span", { className: "attempt-name" }, attempt.name),
    h("span", { className: "tool-sign" }, sign, h("span", { className: "visually-hidden" }, STATES[state])),
    act &&
      !isRunning && // no switch of branches while the run is active
      h(
        "button",
        {
          type: "button", className: "text-button", "aria-label": _("Open {name}", { name: attempt.name }),
          onClick: () => act("switch", { branch: attempt.branch }),
        },
        _("Open"),
      ),
  );
}
