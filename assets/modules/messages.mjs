/** One message of the transcript, what can be done with it, and the cards of the tools that it called. */
import { Approval } from "./approval.mjs";
import { Later } from "./attaching.mjs";
import { Editor } from "./editing.mjs";
import { clockTime, duration, figure, fullTime, money } from "./format.mjs";
import { icon } from "./icons.mjs";
import { usageText } from "./meter.mjs";
import { copyText, decorate } from "./prose.mjs";
import { say as tell } from "./toast.mjs";

const { Fragment, createElement: h, memo, useEffect, useLayoutEffect, useRef, useState } = window.React;

/**
 * @typedef {{id: string, name: string, arguments: string, status: "running"|"waiting"|"queued"|"done"|"error"|"stopped",
 *   duration_ms: number|null, result: string|null, message_id: string|null,
 *   move: {target: string, number: number, leaves: string, argument: string, words: string, read: string[]}|null, agent: string, work: WorkView|null,
 *   ways: import("./later/forks.mjs").WayView[]}} ToolView
 * @typedef {{agent: string, question: string, messages: number, waiting: ToolView[]}} WorkView  what an agent does for a call
 * @typedef {{id: string, role: "user"|"assistant"|"note", state: "done"|"partial"|"error", html: string, text: string, label: string|null,
 *   time: string, tools: ToolView[], siblings: string[], files: {kind: "image"|"file", name: string, size: number, address: string}[], trace: string|null,
 *   summary: import("./later/summary.mjs").SummaryView|null, left: import("./later/summary.mjs").GoneView|null,
 *   usage: {input: number, cached: number, output: number, reasoning: number, cost: number|null}|null}} MessageView
 */

const SPEAKERS = { user: "You said", assistant: "Waymark said", note: "Note" };
const TOOL_SIGNS = { waiting: "hand-index", queued: "clock-history", done: "check-lg", error: "exclamation-circle", stopped: "stop-circle" };
const TOOL_WORDS = { running: "running", waiting: "waits for you", queued: "waits for its turn", done: "done", error: "failed", stopped: "stopped" };
const TOOL_STATES = { running: "partial", waiting: "partial", queued: "partial", done: "done", error: "error", stopped: "partial" };
const PREVIEW_LENGTH = 120;
const ASKED_MS = 1000; // a click on an arrow is answered within this, or it may be made again

/** @returns {string} a tool's arguments on one line, without the outer braces */
function preview(argumentsText) {
  const line = argumentsText.replace(/\s+/g, " ").replace(/^\{ ?| ?\}$/g, "");
  return line.length > PREVIEW_LENGTH ? `${line.slice(0, PREVIEW_LENGTH)}…` : line;
}

const RARE = {
  Summary: () => import("./later/summary.mjs"),
  Left: () => import("./later/summary.mjs"),
  Ways: () => import("./later/forks.mjs"),
  WaysDone: () => import("./later/forks.mjs"),
};
const fetched = {};

/** A part that few messages have. It is fetched with the first of them. @param {{part: keyof typeof RARE}} props with those of the part */
function Rare({ part, ...props }) {
  const [Part, setPart] = useState(() => fetched[part] ?? null);
  useEffect(() => {
    const show = (module) => setPart(() => (fetched[part] = module[part]));
    if (Part === null) RARE[part]().then(show, () => undefined); // shown without, as long as nobody answers
  }, [part]);
  return Part && h(Part, props);
}

/** @param {{tool: ToolView, act: Function|null}} props without `act`, nothing can be decided here */
export function ToolCard({ tool, act }) {
  const hooks = tool.message_id
    ? {
        "data-testid": "message",
        "data-role": "tool",
        "data-message-id": tool.message_id,
        "data-state": TOOL_STATES[tool.status],
      }
    : {};
  const sign = tool.status === "running" ? h("span", { className: "spinner" }) : icon(TOOL_SIGNS[tool.status]);
  return h(
    "details",
    { className: "tool", "data-status": tool.status, open: tool.status === "waiting" || undefined, ...hooks },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, tool.name),
      h("span", { className: "tool-preview" }, tool.name === "fork" ? h(Rare, { part: "WaysDone", tool }) : preview(tool.arguments)),
      h("span", { className: "tool-time" }, duration(tool.duration_ms)),
      h("span", { className: "tool-sign" }, sign, h("span", { className: "visually-hidden" }, TOOL_WORDS[tool.status])),
    ),
    h(
      "div",
      { className: "tool-body" },
      tool.name === "fork" && h(Rare, { part: "Ways", tool, act }),
      !tool.move && tool.name !== "fork" && h(ToolText, { label: "Arguments", text: tool.arguments }), // the card of a move says it in words
      act && tool.status === "waiting" && !tool.work && h(Approval, { tool, act }),
      act && tool.work?.waiting.map((call) => h(ToolCard, { key: call.id, tool: call, act })),
      tool.result !== null && h(ToolText, { label: tool.status === "error" ? "Error" : "Result", text: tool.result }),
    ),
  );
}

/** The work of an agent that was asked. What it said and read is fetched when this is opened. */
function Work({ work, isAtWork }) {
  const [Part, setPart] = useState(null);
  const open = (event) => {
    if (!event.currentTarget.open || Part) return;
    import("./later/agents.mjs").then((module) => setPart(() => module.Steps), () => undefined);
  };
  return h(
    "details",
    { className: "tool work", "data-testid": "work", onToggle: open },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, work.agent),
      h("span", { className: "tool-preview" }, work.messages === 1 ? "1 message" : `${work.messages} messages`),
      isAtWork && h("span", { className: "tool-time" }, "working…"),
    ),
    Part && h(Part, { work }),
  );
}

/** The card of a call, and below it what an agent did for it. @param {{tool: ToolView, act: Function|null}} props */
export function Tool({ tool, act }) {
  const work = tool.work && h(Work, { work: tool.work, isAtWork: tool.status === "running" });
  return h(Fragment, null, h(ToolCard, { tool, act }), work);
}

function ToolText({ label, text }) {
  return h(
    "div",
    null,
    h("p", { className: "tool-label" }, label),
    h("pre", { tabIndex: 0, role: "group", "aria-label": label }, text === "" ? "(nothing)" : text),
  );
}

/** Copies a message's text; says so by its sign for a moment. */
function CopyButton({ text, say }) {
  const [copied, setCopied] = useState(null);
  useEffect(() => {
    if (copied === null) return undefined;
    const timer = setTimeout(() => setCopied(null), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    const done = await copyText(text);
    setCopied(done);
    say(done ? "Message copied" : "Copying was not allowed");
  };
  const sign = copied === null ? "copy" : copied ? "check-lg" : "exclamation-circle";
  return h(
    "button",
    { type: "button", className: "icon-button", "aria-label": "Copy message", title: "Copy message", onClick: copy },
    icon(sign),
  );
}

/** Sanitised html of the server. Its text changes rarely; React leaves it alone until then. */
export function Prose({ html }) {
  const ref = useRef(null);
  useLayoutEffect(() => decorate(ref.current), [html]);
  return h("div", { className: "prose", ref, dangerouslySetInnerHTML: { __html: html } });
}

/** @param {{name: string, sign: string, onClick: () => void}} props */
function ActionButton({ name, sign, onClick, ...hooks }) {
  const once = (event) => event.detail < 2 && onClick(); // a double click is one wish
  return h("button", { type: "button", className: "icon-button", "aria-label": name, title: name, ...hooks, onClick: once }, icon(sign));
}

/** Goes through the alternatives of a message: what was edited, or answered again. */
function Alternatives({ message, act, say }) {
  const { id, siblings } = message;
  const place = siblings.indexOf(id);
  const asked = useRef({ from: null, at: 0 });
  const choose = (target) => {
    const now = performance.now();
    const isAsked = asked.current.from === id && now - asked.current.at < ASKED_MS;
    if (!(target in siblings) || isAsked) return;
    asked.current = { from: id, at: now };
    act("choose", { message: siblings[target] });
    say(`Alternative ${target + 1} of ${siblings.length}`);
  };
  const arrow = (name, target, turned) =>
    h(
      "button",
      {
        type: "button",
        className: `icon-button${turned ? " turned" : ""}`,
        "aria-label": name,
        title: name,
        "aria-disabled": target in siblings ? undefined : true,
        onClick: () => choose(target),
      },
      icon("chevron-right"),
    );
  return h(
    "div",
    { className: "alternatives", role: "group", "aria-label": `Alternative ${place + 1} of ${siblings.length}` },
    arrow("Previous alternative", place - 1, true),
    h("span", null, `${place + 1}/${siblings.length}`),
    arrow("Next alternative", place + 1, false),
  );
}

const opinions = new Map(); // about answers, by their ids; Langfuse alone keeps them longer than the page

/** What the user thinks of a traced answer, and the way to its trace. */
function Rating({ message, act }) {
  const { id, trace } = message;
  const [good, setGood] = useState(opinions.get(id) ?? null);
  const thumb = (name, sign, wanted) => {
    const isPressed = good === wanted;
    const rate = () => {
      const next = isPressed ? null : wanted;
      opinions.set(id, next);
      setGood(next);
      act("feedback", { message: id, good: next });
    };
    return h(ActionButton, { name, sign: isPressed ? `${sign}-fill` : sign, "aria-pressed": isPressed, onClick: rate });
  };
  return h(
    Fragment,
    null,
    thumb("Good answer", "hand-thumbs-up", true),
    thumb("Bad answer", "hand-thumbs-down", false),
    trace !== "" &&
      h(
        "a",
        { className: "icon-button", href: trace, target: "_blank", rel: "noreferrer", "aria-label": "Open trace", title: "Open trace" },
        icon("box-arrow-up-right"),
      ),
  );
}

function Usage({ usage }) {
  const cost = usage.cost === null ? "" : ` · ${money(usage.cost)}`;
  const title = `${usageText(usage)}${cost}`;
  return h(
    "span",
    { className: "usage", title },
    h("span", { "aria-hidden": true }, `${figure(usage.input)} → ${figure(usage.output)}${cost}`),
    h("span", { className: "visually-hidden" }, title),
  );
}

/** What is asked for more rarely. The menu is made when it is opened. */
function More({ id, act }) {
  const [Menu, setMenu] = useState(null);
  const open = () => {
    import("./later/menu.mjs").then((module) => setMenu(() => module.Menu), () => tell("The menu could not be shown; please try again."));
  };
  const items = [
    ["Summarise from here", () => act("summarise", { message: id, side: "from" })],
    ["Summarise up to here", () => act("summarise", { message: id, side: "up_to" })],
  ];
  const name = "More";
  return h(
    "span",
    { className: "more" },
    h(
      "button",
      { type: "button", className: "icon-button", "aria-label": name, title: name, "aria-haspopup": "menu", "aria-expanded": Menu !== null, onClick: open },
      icon("three-dots"),
    ),
    Menu && h(Menu, { name, items, onClose: () => setMenu(null) }),
  );
}

function Foot({ message, say, act, onEdit }) {
  const { id, role, text } = message;
  const isUser = role === "user";
  const alternatives = message.siblings.length > 1 && h(Alternatives, { message, act, say });
  return h(
    "footer",
    { className: "message-foot" },
    message.state === "partial" && h("span", { className: "cut-off" }, "Cut off"),
    !isUser && alternatives, // always seen, so it stands at the edge, where the hidden buttons leave no gap
    h("time", { dateTime: message.time, title: fullTime(message.time) }, clockTime(message.time)),
    message.usage !== null && h(Usage, { usage: message.usage }),
    text !== "" && h(CopyButton, { text, say }),
    isUser
      ? h(ActionButton, { name: "Edit message", sign: "pencil", className: "icon-button edit-button", onClick: () => onEdit(message) })
      : h(ActionButton, { name: "Answer again", sign: "arrow-repeat", onClick: () => act("regenerate", { message: id }) }),
    message.trace !== null && h(Rating, { message, act }),
    h(ActionButton, { name: "Branch from here", sign: "diagram-2", "data-testid": "fork", onClick: () => act("fork", { message: id }) }),
    h(More, { id, act }),
    isUser && alternatives,
  );
}

/**
 * @param {{message: MessageView, say: (text: string) => void, act: Function, onEdit: Function,
 *   editing: import("./editing.mjs").Editing|null, isLast: boolean}} props
 */
function MessageArticle({ message, say, act, onEdit, editing, isLast }) {
  const hooks = {
    "data-testid": "message",
    "data-role": message.role,
    "data-state": message.state,
    "data-message-id": message.id,
  };
  const hasFoot = message.role !== "note" && (message.html !== "" || message.files.length > 0 || message.siblings.length > 1);
  return h(
    "article",
    { className: `message message-${message.role}`, "aria-label": SPEAKERS[message.role], ...hooks },
    message.label !== null && h("p", { className: "note-label" }, message.label),
    editing ? h(Editor, { editing, isLast }) : message.html !== "" && !message.summary && h(Prose, { html: message.html }),
    message.summary && h(Rare, { part: "Summary", message, act }),
    message.left && h(Rare, { part: "Left", message, act }),
    message.files.length > 0 && h(Later, { part: "Attached", files: message.files }),
    message.tools.length > 0 &&
      h("div", { className: "tools" }, message.tools.map((tool) => h(Tool, { key: tool.id, tool, act }))),
    hasFoot && !editing && h(Foot, { message, say, act, onEdit }),
  );
}

/** Callbacks deliver every message anew as JSON; only a message that says something else is rendered again. */
const sameMessage = (before, after) =>
  before.editing === after.editing &&
  before.act === after.act &&
  (before.isLast === after.isLast || !after.editing) &&
  (before.message === after.message || JSON.stringify(before.message) === JSON.stringify(after.message));

export const Message = memo(MessageArticle, sameMessage);
