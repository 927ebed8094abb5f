/** The card of a tool call, with the agent's parallel attempts, and below it a sub-agent's work for the call. */
import { button } from "../controls/buttons.mjs";
import { ReadingDialog } from "../controls/dialog.mjs";
import { icon, withIcon } from "../controls/icons.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { formatCount, formatDuration } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { Approval } from "./approval.mjs";
import { Prose } from "./prose.mjs";
import { ShowAll, ShowAllCalls } from "./show-all.mjs";

const { Fragment, createElement: h, useRef, useState } = window.React;

/** By the status of a call: its sign, the word for it, and the state of the result as a message. */
const STATUSES = {
  running: { word: _("running"), state: "partial" },
  waiting: { sign: "hand-index", word: _("waiting for you"), state: "partial" },
  queued: { sign: "clock-history", word: _("queued"), state: "partial" },
  done: { sign: "check-lg", word: _("done"), state: "done" },
  error: { sign: "exclamation-circle", word: _("failed"), state: "error" },
  stopped: { sign: "stop-circle", word: _("stopped"), state: "partial" },
};
const MAX_RESULT_CHARS = 20;

/** @returns {string|null} a result that fits beside the sign of the call */
function previewResult({ status, result }) {
  const line = (result ?? "").trim();
  const isShort = line !== "" && line.length <= MAX_RESULT_CHARS && !line.includes("\n");
  return status === "done" && isShort ? line : null;
}

/** @param {{tool: import("../state/types.mjs").ToolView, act: Function|null}} props without `act` the card is read-only */
export function ToolCard({ tool, act }) {
  const { status, message_id: id } = tool;
  const { sign, word, state } = STATUSES[status];
  const hooks = id && { "data-testid": "message", "data-role": "tool", "data-message-id": id, "data-state": state };
  return h(
    "details",
    { className: "tool", "data-status": status, open: status === "waiting" || undefined, ...hooks },
    h("summary", null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, tool.name),
      h("span", { className: "tool-preview" }, tool.preview),
      h("span", { className: "tool-time" }, formatDuration(tool.duration_ms)),
      h("span", { className: "tool-result" }, previewResult(tool)),
      h("span", { className: "tool-sign" },
        sign ? icon(sign) : h("span", { className: "spinner" }),
        h("span", { className: status === "waiting" ? "tool-word" : "visually-hidden" }, word),
      ),
    ),
    h(ToolBody, { tool, act }),
  );
}

function ToolBody({ tool, act }) {
  const isFork = tool.name === "fork";
  return h(
    "div",
    { className: "tool-body" },
    isFork && h(Attempts, { tool, act }),
    // The approval of a move describes its arguments.
    !tool.move && !isFork &&
      h(ToolText, { className: "tool-arguments", label: _("Arguments"), text: tool.arguments, more: tool.more_arguments }),
    act && tool.status === "waiting" && !tool.work && h(Approval, { tool, act }),
    act && tool.work?.waiting.map((call) => h(ToolCard, { key: call.id, tool: call, act })),
    tool.result !== null &&
      h(ToolText, { label: tool.status === "error" ? _("Error") : _("Result"), text: tool.result, more: tool.more_result }),
  );
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

const ATTEMPT_STATES = { done: _("done"), running: _("running"), "not finished": _("not finished") };

/**
 * The agent's parallel attempts, each prompt with its branch.
 * @param {{tool: import("../state/types.mjs").ToolView, act: Function|null}} props
 */
function Attempts({ tool: { attempts, status }, act }) {
  const isRunning = status === "running";
  return h(
    "ol",
    { className: "attempts" },
    attempts.map((attempt, place) =>
      attempt.branch === "" ? h("li", { key: place }, attempt.name) : h(AttemptRow, { key: place, attempt, isRunning, act }),
    ),
  );
}

function AttemptRow({ attempt: { name, branch, done }, isRunning, act }) {
  const state = done ? "done" : isRunning ? "running" : "not finished";
  const sign = done ? icon("check-lg") : isRunning ? h("span", { className: "spinner" }) : icon("stop-circle");
  const open = () => act("switch", { branch });
  return h(
    "li",
    { className: "attempt", "data-testid": "way", "data-state": state },
    h("span", { className: "attempt-name" }, name),
    h("span", { className: "tool-sign" }, sign, h("span", { className: "visually-hidden" }, ATTEMPT_STATES[state])),
    // No switch of branches while the run is active.
    act && !isRunning && button("text-button", _("Open"), open, { "aria-label": _("Open {name}", { name }) }),
  );
}

/** The work of a sub-agent. Its messages are fetched when the fold is opened. */
function SubagentWork({ work, isAtWork }) {
  const [wasOpened, setOpened] = useState(false);
  return h(
    "details",
    { className: "tool work", "data-testid": "work", onToggle: (event) => event.currentTarget.open && setOpened(true) },
    h("summary", null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, work.agent),
      h("span", { className: "tool-preview" }, formatCount(work.messages, "message")),
      isAtWork && h("span", { className: "tool-time" }, _("working…")),
    ),
    wasOpened && h(SubagentSteps, { work }),
  );
}

const PORTION_MESSAGES = 50; // that each "Show earlier" adds
const GONE_TEXT = _("This is no longer part of the conversation.");

/** The messages of a sub-agent for one call, and all of them in a dialog. */
function SubagentSteps({ work: { agent, address, question, messages } }) {
  const [isOpen, setOpen] = useState(false);
  const title = _("Everything {agent} remembers", { agent });
  return h(
    "div",
    { className: "tool-body agent-steps" },
    h(Memory, { address, question, revision: messages }),
    button("quiet-button", withIcon("list", _("Open as a transcript")), () => setOpen(true)),
    isOpen &&
      h(ReadingDialog, { title, className: "agent-steps", onClose: () => setOpen(false) }, h(Memory, { address })),
  );
}

/**
 * @param {{address: string, question?: string|null, revision?: number}} props `address` of the agent's messages; `question`:
 *   the id of the one that began the work, without which everything is shown; `revision` changes when there is more to fetch
 */
function Memory({ address, question = null, revision }) {
  const [count, setCount] = useState(PORTION_MESSAGES);
  const query = new URLSearchParams(question ? { question, count } : { count });
  const { content, status } = useFetch(`${address}?${query}`, GONE_TEXT, revision);
  const last = useRef(null); // shown until the longer one has come
  last.current = content ?? last.current;
  const { messages, earlier } = last.current ?? { messages: [], earlier: false };
  const showEarlier = () => setCount(count + PORTION_MESSAGES);
  return h(
    Fragment,
    null,
    status && h("p", { role: "status", className: "quiet" }, status),
    earlier && button("text-button", _("Show earlier"), showEarlier),
    messages.map((message) => h(SubagentMessage, { key: message.id, message })),
  );
}

const SubagentMessage = ({ message }) =>
  h(
    "section",
    { className: `agent-message agent-${message.role}`, "data-testid": "agent-message" },
    message.label !== null && h("p", { className: "note-label" }, message.label),
    message.html !== "" && h(Prose, { html: message.html }),
    h(ShowAll, { more: message.more }),
    h(Tools, { message, act: null }),
  );

/**
 * The cards of a message's calls, each with a sub-agent's work for it, and the link to those that have no card.
 * @param {{message: import("../state/types.mjs").MessageView, act: Function|null}} props
 */
export function Tools({ message: { tools, more_tools: more }, act }) {
  const card = (tool) =>
    h(
      Fragment,
      { key: tool.id },
      h(ToolCard, { tool, act }),
      tool.work && h(SubagentWork, { work: tool.work, isAtWork: tool.status === "running" }),
    );
  return h(
    Fragment,
    null,
    tools.length > 0 && h("div", { className: "tools" }, tools.map(card)),
    h(ShowAllCalls, { more }),
  );
}
