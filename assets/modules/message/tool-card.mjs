/** The card of a tool call, and below it a sub-agent's work for the call. */
import { formatCount, formatDuration } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";
import { Approval } from "./approval.mjs";
import { ShowAll } from "./show-all.mjs";

const { Fragment, createElement: h, useState } = window.React;

const TOOL_SIGNS = {
  waiting: "hand-index",
  queued: "clock-history",
  done: "check-lg",
  error: "exclamation-circle",
  stopped: "stop-circle",
};
const TOOL_WORDS = {
  running: _("running"),
  waiting: _("waiting for you"),
  queued: _("queued"),
  done: _("done"),
  error: _("failed"),
  stopped: _("stopped"),
};
const TOOL_STATES = {
  running: "partial",
  waiting: "partial",
  queued: "partial",
  done: "done",
  error: "error",
  stopped: "partial",
};
const MAX_PREVIEW_CHARS = 120;
const MAX_RESULT_CHARS = 20;
/** As in {"name": "text"}, whose end may be cut off. */
const ONE_TEXT = /^\{\s*"(?:[^"\\]|\\.)*"\s*:\s*("(?:[^"\\]|\\.)*)(?:"\s*\}|\\)?$/;

const Attempts = lazy(() => import("./attempts.lazy.mjs"), "Attempts");
const AttemptsDone = lazy(() => import("./attempts.lazy.mjs"), "AttemptsDone");
const SubagentSteps = lazy(() => import("./subagent.lazy.mjs"), "SubagentSteps");

/** @returns {string} a tool's arguments on one line: a single text alone, several values as JSON without the outer braces */
function previewArguments(argumentsText) {
  const text = readOneText(argumentsText.trim()) ?? argumentsText.replace(/^\s*\{|\}\s*$/g, "");
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_PREVIEW_CHARS ? `${line.slice(0, MAX_PREVIEW_CHARS)}…` : line;
}

/** @returns {string|null} the text of `{"name": "text"}`, which may be cut off; null for other arguments */
function readOneText(argumentsText) {
  const [, text] = ONE_TEXT.exec(argumentsText) ?? [];
  if (text === undefined) return null;
  try {
    return JSON.parse(`${text}"`);
  } catch {
    return null;
  }
}

/** @returns {string|null} a result that fits beside the sign of the call */
function previewResult({ status, result }) {
  const line = (result ?? "").trim();
  const isShort = line !== "" && line.length <= MAX_RESULT_CHARS && !line.includes("\n");
  return status === "done" && isShort ? line : null;
}

/** @param {{tool: import("../lib/types.mjs").ToolView, act: Function|null}} props without `act` the card is read-only */
export function ToolCard({ tool, act }) {
  const hooks = tool.message_id
    ? {
        "data-testid": "message",
        "data-role": "tool",
        "data-message-id": tool.message_id,
        "data-state": TOOL_STATES[tool.status],
      }
    : {};
  return h(
    "details",
    { className: "tool", "data-status": tool.status, open: tool.status === "waiting" || undefined, ...hooks },
    h(ToolSummary, { tool }),
    h(ToolBody, { tool, act }),
  );
}

function ToolSummary({ tool }) {
  const sign = tool.status === "running" ? h("span", { className: "spinner" }) : icon(TOOL_SIGNS[tool.status]);
  return h(
    "summary",
    null,
    icon("chevron-right", "tool-fold"),
    h("span", { className: "tool-name" }, tool.name),
    h(
      "span",
      { className: "tool-preview" },
      tool.name === "fork" ? h(AttemptsDone, { tool }) : previewArguments(tool.arguments),
    ),
    h("span", { className: "tool-time" }, formatDuration(tool.duration_ms)),
    h("span", { className: "tool-result" }, previewResult(tool)),
    h(
      "span",
      { className: "tool-sign" },
      sign,
      h("span", { className: tool.status === "waiting" ? "tool-word" : "visually-hidden" }, TOOL_WORDS[tool.status]),
    ),
  );
}

function ToolBody({ tool, act }) {
  return h(
    "div",
    { className: "tool-body" },
    tool.name === "fork" && h(Attempts, { tool, act }),
    !tool.move &&
      tool.name !== "fork" &&
      // the approval of a move describes its arguments
      h(ToolText, { className: "tool-arguments", label: _("Arguments"), text: tool.arguments, more: tool.more_arguments }),
    act && tool.status === "waiting" && !tool.work && h(Approval, { tool, act }),
    act && tool.work?.waiting.map((call) => h(ToolCard, { key: call.id, tool: call, act })),
    tool.result !== null &&
      h(ToolText, { label: tool.status === "error" ? _("Error") : _("Result"), text: tool.result, more: tool.more_result }),
  );
}

/** The work of a sub-agent. Its messages are fetched when the fold is opened. */
function SubagentWork({ work, isAtWork }) {
  const [wasOpened, setOpened] = useState(false);
  return h(
    "details",
    { className: "tool work", "data-testid": "work", onToggle: (event) => event.currentTarget.open && setOpened(true) },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, work.agent),
      h("span", { className: "tool-preview" }, formatCount(work.messages, "message")),
      isAtWork && h("span", { className: "tool-time" }, _("working…")),
    ),
    // passed as a value: steps contain cards and cards contain steps, and imports may not be circular
    wasOpened && h(SubagentSteps, { work, Tool }),
  );
}

/**
 * The card of a call, and below it a sub-agent's work for it.
 * @param {{tool: import("../lib/types.mjs").ToolView, act: Function|null}} props
 */
export function Tool({ tool, act }) {
  const work = tool.work && h(SubagentWork, { work: tool.work, isAtWork: tool.status === "running" });
  return h(Fragment, null, h(ToolCard, { tool, act }), work);
}

function ToolText({ label, text, more, className }) {
  return h(
    "div",
    { className },
    h("p", { className: "tool-label" }, label),
    h("pre", { tabIndex: 0, role: "group", "aria-label": label }, text === "" ? _("(nothing)") : text),
    h(ShowAll, { more }),
  );
}
