/** The agent's parallel attempts, on the card of their fork call: each prompt with its branch. */
import { icon } from "../controls/icons.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

const STATES = { done: _("done"), running: _("running"), "not finished": _("not finished") };

/** @param {{tool: import("../state/types.mjs").ToolView, act: Function|null}} props */
export function Attempts({ tool: { attempts, status }, act }) {
  const isRunning = status === "running";
  return h(
    "ol",
    { className: "attempts" },
    attempts.map((attempt, place) =>
      attempt.branch === "" ? h("li", { key: place }, attempt.name) : h(AttemptRow, { key: place, attempt, isRunning, act }),
    ),
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
