/** What an agent said and read: for one call, in the fold below it, and all of it as a transcript. */
import { icon } from "../icons.mjs";
import { Prose, Tool } from "../messages.mjs";

const { Fragment, createElement: h, useEffect, useId, useLayoutEffect, useRef, useState } = window.React;
const { createPortal } = window.ReactDOM;

const NOT_NOW = "This cannot be read just now.";
const GONE = "This is not part of the conversation any more.";

style();

function style() {
  const address = new URL("./agents.css", import.meta.url).href;
  if (document.querySelector(`link[href="${address}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: address }));
}

/**
 * @param {string} agent
 * @param {string|null} question the id of the message that began the work; null: all that the agent remembers
 * @param {number} [news] something that changes when there is more
 * @returns {{messages: import("../messages.mjs").MessageView[], said: string|null}}
 */
function useMemory(agent, question, news) {
  const [found, setFound] = useState({ messages: [], said: "Reading…" });
  useEffect(() => {
    const leaving = new AbortController();
    const thread = location.pathname.slice("/t/".length);
    const only = question ? `?question=${encodeURIComponent(question)}` : "";
    const nothing = (said) => setFound({ messages: [], said });
    fetch(`/api/threads/${thread}/agents/${encodeURIComponent(agent)}${only}`, { signal: leaving.signal })
      .then(async (reply) => (reply.ok ? setFound({ messages: await reply.json(), said: null }) : nothing(reply.status === 404 ? GONE : NOT_NOW)))
      .catch(() => leaving.signal.aborted || nothing(NOT_NOW));
    return () => leaving.abort();
  }, [agent, question, news]);
  return found;
}

/** @param {{work: import("../messages.mjs").WorkView}} props */
export function Steps({ work }) {
  const { messages, said } = useMemory(work.agent, work.question, work.messages);
  const [isOpen, setOpen] = useState(false);
  return h(
    "div",
    { className: "tool-body agent-steps" },
    h(Said, { messages, said }),
    h(
      "button",
      { type: "button", className: "quiet-button", onClick: () => setOpen(true) },
      icon("list"),
      "Open as a transcript",
    ),
    isOpen && createPortal(h(Transcript, { agent: work.agent, onClose: () => setOpen(false) }), document.body),
  );
}

function Said({ messages, said }) {
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

/** All that an agent remembers here, in a dialog of the browser's own. */
function Transcript({ agent, onClose }) {
  const id = useId();
  const dialog = useRef(null);
  const { messages, said } = useMemory(agent, null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    window.addEventListener("popstate", onClose);
    return () => {
      window.removeEventListener("popstate", onClose);
      element.close(); // gives the focus back to what had it
    };
  }, []);
  return h(
    "dialog",
    { ref: dialog, className: "modal show", "aria-labelledby": id, onCancel: (event) => (event.preventDefault(), onClose()) },
    h(
      "div",
      { className: "modal-dialog modal-dialog-centered modal-dialog-scrollable modal-lg" },
      h(
        "div",
        { className: "modal-content" },
        h("div", { className: "modal-header" }, h("h2", { className: "modal-title", id }, `All that ${agent} remembers`)),
        h("div", { className: "modal-body agent-steps", tabIndex: 0 }, h(Said, { messages, said })),
        h("div", { className: "modal-footer" }, h("button", { type: "button", className: "btn btn-secondary", onClick: onClose }, "Close")),
      ),
    ),
  );
}
