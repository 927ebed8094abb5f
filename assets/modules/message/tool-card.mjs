/** The card of a tool call, and below it a sub-agent's work for the call. */
import { icon } from "../controls/icons.mjs";
import { useSinglePress } from "../requests/tracked-request.mjs";
import { formatCount, formatDuration } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { Attempts } from "./attempts.mjs";
import { ShowAll, ShowAllCalls } from "./show-all.mjs";
import { SubagentSteps } from "./subagent.mjs";

const { Fragment, createElement: h, useState, useId, useRef } = window.React;

const MAX_ROWS = 10;
const FORMS = {
  edit: { label: _("Arguments, as JSON"), button: _("Run with these") },
  words: { label: _("Note for the agent"), button: _("Go back with this") },
  respond: { label: _("Answer instead of the tool"), button: _("Answer") },
};

/** @param {{tool: import("../state/types.mjs").ToolView, act: Function}} props */
function Approval({ tool, act }) {
  const [form, setForm] = useState(null);
  const { isPending, press } = useSinglePress();
  const label = useId();
  const root = useRef(null);
  const decide = (kind, fields = {}) => press(() => act("decide", { call: tool.id, kind, ...fields }));
  const cancel = () => {
    root.current.querySelector('[aria-expanded="true"]').focus(); // before the pressed button disappears
    setForm(null);
  };
  const decideButton = (name, style, kind, fields, title) =>
    h("button", { type: "button", className: `btn ${style}`, title, "aria-disabled": isPending || undefined,
      onClick: () => decide(kind, fields) }, name);
  const formButton = (name, next) => {
    const onClick = () => setForm(form === next ? null : next);
    return h("button", { type: "button", className: "btn btn-outline-secondary", "aria-disabled": isPending || undefined,
      "aria-expanded": form === next, onClick }, name);
  };
  return h(
    "div",
    { className: "approval", role: "group", "aria-labelledby": label, "data-form": form, ref: root },
    tool.move ? h(Move, { id: label, move: tool.move }) : h("p", { id: label }, tool.question),
    h(
      "div",
      { className: "approval-buttons" },
      decideButton(_("Allow"), form === null ? "btn-primary" : "btn-outline-secondary", "allow"),
      tool.move && decideButton(_("Always allow"), "btn-outline-secondary", "allow", { always: true },
        _("Always allow in this conversation")),
      tool.move && formButton(_("Change the note"), "words"),
      !tool.move && formButton(_("Change arguments"), "edit"),
      !tool.move && formButton(_("Answer instead"), "respond"),
      decideButton(_("Deny"), "btn-outline-secondary", "deny"),
    ),
    form !== null && h(AnswerForm, { key: form, tool, form, isPending, decide, onCancel: cancel }),
  );
}

/** The form for other arguments, another note, or an answer instead of the tool's. */
function AnswerForm({ tool, form, isPending, decide, onCancel }) {
  const [text, setText] = useState({ edit: tool.arguments, words: tool.move?.words, respond: "" }[form]);
  const onSubmit = (event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    if (form === "words")
      decide("edit", { text: JSON.stringify({ ...JSON.parse(tool.arguments), [tool.move.argument]: text }) });
    else decide(form, { text });
  };
  return h(
    "form",
    { onSubmit },
    h("textarea", {
      className: `form-control${form === "edit" ? " approval-arguments" : ""}`,
      "aria-label": FORMS[form].label,
      rows: Math.min(MAX_ROWS, text.split("\n").length + 1),
      value: text,
      autoFocus: true,
      onChange: (event) => setText(event.target.value),
    }),
    h(
      "div",
      { className: "approval-buttons" },
      h(
        "button",
        { type: "submit", className: "btn btn-primary", "aria-disabled": isPending || undefined },
        FORMS[form].button,
      ),
      h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onCancel }, _("Cancel")),
    ),
  );
}

/** A requested move: its target, the messages it would remove, and its note. */
function Move({ id, move }) {
  return h(
    "div",
    { className: "approval-move" },
    h("p", { id }, move.text),
    h("p", { className: "quiet", title: move.tokens_hint }, move.tokens),
    h("blockquote", null, move.target),
    h("p", { className: "quiet" }, move.note_label),
    h("blockquote", null, move.words),
  );
}

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
  const hooks = tool.message_id
    ? {
        "data-testid": "message",
        "data-role": "tool",
        "data-message-id": tool.message_id,
        "data-state": STATUSES[tool.status].state,
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
  const { sign, word } = STATUSES[tool.status];
  return h(
    "summary",
    null,
    icon("chevron-right", "tool-fold"),
    h("span", { className: "tool-name" }, tool.name),
    h("span", { className: "tool-preview" }, tool.preview),
    h("span", { className: "tool-time" }, formatDuration(tool.duration_ms)),
    h("span", { className: "tool-result" }, previewResult(tool)),
    h(
      "span",
      { className: "tool-sign" },
      sign ? icon(sign) : h("span", { className: "spinner" }),
      h("span", { className: tool.status === "waiting" ? "tool-word" : "visually-hidden" }, word),
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
    wasOpened && h(SubagentSteps, { work, Tools }),
  );
}

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

function ToolText({ label, text, more, className }) {
  return h(
    "div",
    { className },
    h("p", { className: "tool-label" }, label),
    h("pre", { tabIndex: 0, role: "group", "aria-label": label }, text === "" ? _("(nothing)") : text),
    h(ShowAll, { more }),
  );
}
