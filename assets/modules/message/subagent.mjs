/** The messages of a sub-agent: those of one call in the fold below its card, and all of them in a dialog. */
import { ReadingDialog } from "../controls/dialog.mjs";
import { icon } from "../controls/icons.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { _ } from "../words/words.mjs";
import { Prose } from "./prose.mjs";
import { ShowAll } from "./show-all.mjs";

const { Fragment, createElement: h, useRef, useState } = window.React;
const { createPortal } = window.ReactDOM;

const PORTION_MESSAGES = 50; // that each "Show earlier" adds
const GONE_TEXT = _("This is no longer part of the conversation.");

/**
 * @param {string} address of the messages of the agent
 * @param {string|null} question the id of the message that began the work; null: everything that the agent remembers
 * @param {number} [revision] changes when there is more to fetch
 * @returns {{messages: import("../state/types.mjs").MessageView[], status: string|null, showEarlier: (() => void)|null}}
 */
function useMemory(address, question, revision) {
  const [count, setCount] = useState(PORTION_MESSAGES);
  const query = new URLSearchParams(question ? { question, count } : { count });
  const { content, status } = useFetch(`${address}?${query}`, GONE_TEXT, revision);
  const last = useRef(null); // shown until the longer one has come
  last.current = content ?? last.current;
  const { messages, earlier } = last.current ?? { messages: [], earlier: false };
  return { messages, status, showEarlier: earlier ? () => setCount(count + PORTION_MESSAGES) : null };
}

/** @param {{work: import("../state/types.mjs").WorkView, Tools: Function}} props `Tools` renders the cards of a message */
export function SubagentSteps({ work, Tools }) {
  const memory = useMemory(work.address, work.question, work.messages);
  const [isOpen, setOpen] = useState(false);
  return h(
    "div",
    { className: "tool-body agent-steps" },
    h(Memory, { ...memory, Tools }),
    h(
      "button",
      { type: "button", className: "quiet-button", onClick: () => setOpen(true) },
      icon("list"),
      _("Open as a transcript"),
    ),
    isOpen && createPortal(h(AllMessages, { work, Tools, onClose: () => setOpen(false) }), document.body),
  );
}

function Memory({ messages, status, showEarlier, Tools }) {
  return h(
    Fragment,
    null,
    status && h("p", { role: "status", className: "quiet" }, status),
    showEarlier && h("button", { type: "button", className: "text-button", onClick: showEarlier }, _("Show earlier")),
    messages.map((message) => h(SubagentMessage, { key: message.id, message, Tools })),
  );
}

function SubagentMessage({ message, Tools }) {
  return h(
    "section",
    { className: `agent-message agent-${message.role}`, "data-testid": "agent-message" },
    message.label !== null && h("p", { className: "note-label" }, message.label),
    message.html !== "" && h(Prose, { html: message.html }),
    h(ShowAll, { more: message.more }),
    h(Tools, { message, act: null }),
  );
}

/** Everything that a sub-agent remembers in this conversation. */
function AllMessages({ work: { agent, address }, Tools, onClose }) {
  return h(
    ReadingDialog,
    { title: _("Everything {agent} remembers", { agent }), className: "agent-steps", onClose },
    h(Memory, { ...useMemory(address, null), Tools }),
  );
}
