/** The messages that the last restore removed, until the next message or Undo: a few plain words of the first ones. */
import { formatCount } from "../lib/format.mjs";
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";
import { describeSpeaker } from "./message.mjs";

const { createElement: h, useState } = window.React;
const { createPortal } = window.ReactDOM;

const FullText = lazy(
  () => import("../message/full-text.lazy.mjs"),
  "FullText",
  _("The removed messages could not be loaded. Please try again."),
);

/** @param {{removed: import("../lib/types.mjs").RemovedPartView, act: Function|null}} props */
export function RemovedPart({ removed: { messages, count, address }, act }) {
  const [isOpen, setOpen] = useState(false);
  const hidden = count - messages.length;
  return h(
    "div",
    {
      className: "removed-part", role: "group",
      "aria-label": _("{messages} removed", { messages: formatCount(count, "message") }), "data-testid": "removed",
    },
    messages.map(({ id, role, person, text }) =>
      h(
        "p",
        { key: id, className: `removed-message removed-${role}` },
        h("span", { className: "visually-hidden" }, _("Removed. {role}: ", { role: describeSpeaker({ role, person }) })),
        text,
      ),
    ),
    h(
      "p",
      { className: "removed-more" },
      hidden > 0
        ? _("{messages}, until you write or undo", {
            messages: formatCount(hidden, messages.length > 0 ? "more message" : "message"),
          })
        : _("Until you write or undo"),
      h("button", { type: "button", className: "text-button", onClick: () => setOpen(true) }, _("Open")),
    ),
    isOpen &&
      createPortal(
        h(FullText, {
          title: _("{messages} removed", { messages: formatCount(count, "message") }), address, act,
          onClose: () => setOpen(false),
        }),
        document.body,
      ),
  );
}

/** The end of a conversation: the banner about its last change, and what this removed. */
export function TimeEnd({ banner, removed, act }) {
  return (banner || removed) && h("div", { className: "time-end" }, banner, removed && h(RemovedPart, { removed, act }));
}
