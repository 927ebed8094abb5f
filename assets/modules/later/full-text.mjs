/** What a summary stands for, read-only, and the way to go on from there. */
import { Prose, ToolCard } from "../messages.mjs";

const { createElement: h, useEffect, useId, useLayoutEffect, useRef, useState } = window.React;

const SPEAKERS = { user: "You", assistant: "Waymark", note: "Note" };
const NOT_HERE = "The full text is not here: it was erased, or this conversation is a copy of the one in which it stands.";
const NOT_NOW = "The full text cannot be read just now.";

/** @param {{title: string, address: string, act: Function, onClose: () => void}} props */
export function FullText({ title, address, act, onClose }) {
  const id = useId();
  const dialog = useRef(null);
  const [found, setFound] = useState({ messages: [], head: null, said: "Reading…" });
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    window.addEventListener("popstate", onClose);
    return () => {
      window.removeEventListener("popstate", onClose);
      element.close(); // gives the focus back to what had it
    };
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    const nothing = (said) => setFound({ messages: [], head: null, said });
    fetch(address, { signal: leaving.signal })
      .then(async (reply) => (reply.ok ? setFound({ ...(await reply.json()), said: null }) : nothing(reply.status === 404 ? NOT_HERE : NOT_NOW)))
      .catch(() => leaving.signal.aborted || nothing(NOT_NOW));
    return () => leaving.abort();
  }, [address]);
  const branch = () => {
    onClose();
    act("fork", { message: found.head });
  };
  return h(
    "dialog",
    { ref: dialog, className: "modal show", "aria-labelledby": `${id}-title`, onCancel: (event) => (event.preventDefault(), onClose()) },
    h(
      "div",
      { className: "modal-dialog modal-dialog-centered modal-dialog-scrollable modal-lg" },
      h(
        "div",
        { className: "modal-content" },
        h("div", { className: "modal-header" }, h("h2", { className: "modal-title", id: `${id}-title` }, title)),
        h(
          "div",
          { className: "modal-body full-text", tabIndex: 0 },
          found.said && h("p", { role: "status" }, found.said),
          found.messages.map((message) => h(Said, { key: message.id, message })),
        ),
        h(
          "div",
          { className: "modal-footer" },
          h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onClose }, "Close"),
          found.head && h("button", { type: "button", className: "btn btn-primary", onClick: branch }, "Branch from there"),
        ),
      ),
    ),
  );
}

function Said({ message }) {
  return h(
    "section",
    null,
    h("h3", { className: "tool-label" }, SPEAKERS[message.role]),
    message.html !== "" && h(Prose, { html: message.html }),
    message.files.map(({ name }) => h("p", { key: name, className: "quiet" }, name)),
    message.tools.map((tool) => h(ToolCard, { key: tool.id, tool, act: null })),
  );
}
