/** One message of the transcript, and the cards of the tools that it called. */
import { clockTime, duration, fullTime } from "./format.mjs";
import { icon } from "./icons.mjs";
import { copyText, decorate } from "./prose.mjs";

const { createElement: h, memo, useEffect, useLayoutEffect, useRef, useState } = window.React;

/**
 * @typedef {{id: string, name: string, arguments: string, status: "running"|"done"|"error"|"stopped",
 *   duration_ms: number|null, result: string|null, message_id: string|null}} ToolView
 * @typedef {{id: string, role: "user"|"assistant"|"note", state: "done"|"partial"|"error", html: string, text: string,
 *   time: string, tools: ToolView[]}} MessageView
 */

const SPEAKERS = { user: "You said", assistant: "Waymark said", note: "Note" };
const TOOL_SIGNS = { done: "check-lg", error: "exclamation-circle", stopped: "stop-circle" };
const TOOL_WORDS = { running: "running", done: "done", error: "failed", stopped: "stopped" };
const TOOL_STATES = { running: "partial", done: "done", error: "error", stopped: "partial" };
const PREVIEW_LENGTH = 120;

/** @returns {string} a tool's arguments on one line, without the outer braces */
function preview(argumentsText) {
  const line = argumentsText.replace(/\s+/g, " ").replace(/^\{ ?| ?\}$/g, "");
  return line.length > PREVIEW_LENGTH ? `${line.slice(0, PREVIEW_LENGTH)}…` : line;
}

/** @param {{tool: ToolView}} props */
function ToolCard({ tool }) {
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
    { className: "tool", "data-status": tool.status, ...hooks },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "tool-name" }, tool.name),
      h("span", { className: "tool-preview" }, preview(tool.arguments)),
      h("span", { className: "tool-time" }, duration(tool.duration_ms)),
      h("span", { className: "tool-sign" }, sign, h("span", { className: "visually-hidden" }, TOOL_WORDS[tool.status])),
    ),
    h(
      "div",
      { className: "tool-body" },
      h(ToolText, { label: "Arguments", text: tool.arguments }),
      tool.result !== null && h(ToolText, { label: tool.status === "error" ? "Error" : "Result", text: tool.result }),
    ),
  );
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
function Prose({ html }) {
  const ref = useRef(null);
  useLayoutEffect(() => decorate(ref.current), [html]);
  return h("div", { className: "prose", ref, dangerouslySetInnerHTML: { __html: html } });
}

function Foot({ message, say }) {
  return h(
    "footer",
    { className: "message-foot" },
    message.state === "partial" && h("span", { className: "cut-off" }, "Cut off"),
    h("time", { dateTime: message.time, title: fullTime(message.time) }, clockTime(message.time)),
    h(CopyButton, { text: message.text, say }),
  );
}

/** @param {{message: MessageView, say: (text: string) => void}} props */
function MessageArticle({ message, say }) {
  const hooks = {
    "data-testid": "message",
    "data-role": message.role,
    "data-state": message.state,
    "data-message-id": message.id,
  };
  return h(
    "article",
    { className: `message message-${message.role}`, "aria-label": SPEAKERS[message.role], ...hooks },
    message.role === "note" && h("p", { className: "note-label" }, "note"),
    message.html !== "" && h(Prose, { html: message.html }),
    message.tools.length > 0 &&
      h("div", { className: "tools" }, message.tools.map((tool) => h(ToolCard, { key: tool.id, tool }))),
    message.html !== "" && message.role !== "note" && h(Foot, { message, say }),
  );
}

/** Callbacks deliver every message anew as JSON; only a message that says something else is rendered again. */
const sameMessage = (before, after) =>
  before.message === after.message || JSON.stringify(before.message) === JSON.stringify(after.message);

export const Message = memo(MessageArticle, sameMessage);
