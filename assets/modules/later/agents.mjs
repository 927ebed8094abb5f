/** What an agent said and read: for one call, in the fold below it, and all of it as a transcript. */
import { icon } from "../icons.mjs";
import { Prose, Tool } from "../messages.mjs";
import { Reading, useReading } from "./reading.mjs";
import { style } from "./style.mjs";

const { Fragment, createElement: h, useState } = window.React;
const { createPortal } = window.ReactDOM;

const GONE = "This is not part of the conversation any more.";

style("agents.css");

/**
 * @param {string} agent
 * @param {string|null} question the id of the message that began the work; null: all that the agent remembers
 * @param {number} [news] something that changes when there is more
 * @returns {{messages: import("../messages.mjs").MessageView[], said: string|null}}
 */
function useMemory(agent, question, news) {
  const thread = location.pathname.slice("/t/".length);
  const only = question ? `?question=${encodeURIComponent(question)}` : "";
  const { found, said } = useReading(`/api/threads/${thread}/agents/${encodeURIComponent(agent)}${only}`, GONE, news);
  return { messages: found ?? [], said };
}

/** @param {{work: import("../messages.mjs").WorkView}} props */
export function Steps({ work }) {
  const { messages, said } = useMemory(work.agent, work.question, work.messages);
  const [isOpen, setOpen] = useState(false);
  return h(
    "div",
    { className: "tool-body agent-steps" },
    h(Memory, { messages, said }),
    h(
      "button",
      { type: "button", className: "quiet-button", onClick: () => setOpen(true) },
      icon("list"),
      "Open as a transcript",
    ),
    isOpen && createPortal(h(Transcript, { agent: work.agent, onClose: () => setOpen(false) }), document.body),
  );
}

function Memory({ messages, said }) {
  return h(
    Fragment,
    null,
    said && h("p", { role: "status", className: "quiet" }, said),
    messages.map((message) => h(Message, { key: message.id, message })),
  );
}

function Message({ message }) {
  return h(
    "section",
    { className: `agent-message agent-${message.role}`, "data-testid": "agent-message" },
    message.label !== null && h("p", { className: "note-label" }, message.label),
    message.html !== "" && h(Prose, { html: message.html }),
    message.tools.length > 0 && h("div", { className: "tools" }, message.tools.map((tool) => h(Tool, { key: tool.id, tool, act: null }))),
  );
}

/** All that an agent remembers here. */
function Transcript({ agent, onClose }) {
  return h(Reading, { title: `All that ${agent} remembers`, className: "agent-steps", onClose }, h(Memory, useMemory(agent, null)));
}
