/** What is fetched when somebody asks for it: reading it, and a dialog of the browser's own that shows it. */
import { Prose, ToolCard } from "../messages.mjs";

const { createElement: h, useEffect, useId, useLayoutEffect, useRef, useState } = window.React;

const NOTHING_YET = { address: null, found: null, said: "Reading…" };
const NOT_NOW = "This cannot be read just now.";
const SPEAKERS = { user: "You", assistant: "Waymark", note: "Note" };

/**
 * What stands at an address, read anew whenever the address changes.
 * @param {string} address
 * @param {string} gone what to say when it is not there
 * @param {number} [news] something that changes when there is more
 * @returns {{found: any, said: string|null}} one of the two is null
 */
export function useReading(address, gone, news) {
  const [read, setRead] = useState(NOTHING_YET);
  useEffect(() => {
    const leaving = new AbortController();
    const nothing = (said) => setRead({ address, found: null, said });
    fetch(address, { signal: leaving.signal })
      .then(async (reply) => (reply.ok ? setRead({ address, found: await reply.json(), said: null }) : nothing(reply.status === 404 ? gone : NOT_NOW)))
      .catch(() => leaving.signal.aborted || nothing(NOT_NOW));
    return () => leaving.abort();
  }, [address, news]);
  return read.address === address ? read : NOTHING_YET; // what was read of another place is not this one's
}

/** A dialog of the browser's own, as long as the component stands; going to another address closes it. @param {() => void} onClose */
export function useDialog(onClose) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    window.addEventListener("popstate", onClose);
    return () => {
      window.removeEventListener("popstate", onClose);
      element.close(); // gives the focus back to what had it
    };
  }, []);
  return dialog;
}

/** @param {{title: string, size?: "lg"|"xl", className: string, buttons?: any, onClose: () => void, children: any}} props */
export function Reading({ title, size = "lg", className, buttons = null, onClose, children }) {
  const id = useId();
  const dialog = useDialog(onClose);
  return h(
    "dialog",
    { ref: dialog, className: "modal show", "aria-labelledby": id, onCancel: (event) => (event.preventDefault(), onClose()) },
    h(
      "div",
      { className: `modal-dialog modal-dialog-centered modal-dialog-scrollable modal-${size}` },
      h(
        "div",
        { className: "modal-content" },
        h("div", { className: "modal-header" }, h("h2", { className: "modal-title", id }, title)),
        h("div", { className: `modal-body ${className}`, tabIndex: 0 }, children),
        h(
          "div",
          { className: "modal-footer" },
          h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onClose }, "Close"),
          buttons,
        ),
      ),
    ),
  );
}

/** A message of a conversation, to read. @param {{message: import("../messages.mjs").MessageView}} props */
export function Said({ message }) {
  return h(
    "section",
    null,
    h("h3", { className: "tool-label" }, SPEAKERS[message.role], message.state === "partial" && h("span", { className: "cut-off" }, " · Cut off")),
    message.label !== null && h("p", { className: "note-label" }, message.label),
    message.html !== "" && h(Prose, { html: message.html }),
    message.files.map(({ name }) => h("p", { key: name, className: "quiet" }, name)),
    message.tools.map((tool) => h(ToolCard, { key: tool.id, tool, act: null })),
  );
}
