/** The last deleted conversations, each with a button to bring it back. */
import { findDirection } from "../lib/direction.mjs";
import { _ } from "../lib/words.mjs";
const { createElement: h } = window.React;

/**
 * @param {{deleted: import("../lib/types.mjs").DeletedItem[],
 *   onBringBack: ((fields: {thread: string, version: number}) => void)|null}} props
 */
export function Deleted({ deleted, onBringBack }) {
  if (deleted.length === 0) return h("p", { className: "pane-empty" }, _("No deleted conversations."));
  return h(
    "ul",
    null,
    deleted.map(({ id, title, version }) =>
      h(
        "li",
        { key: id, className: "thread-row thread-deleted" },
        h("span", { className: "thread-title", title, dir: findDirection(title) }, title),
        onBringBack && h(
          "button",
          {
            type: "button", className: "quiet-button", "aria-label": _("Bring back {title}", { title }),
            onClick: () => onBringBack({ thread: id, version }),
          },
          _("Bring back"),
        ),
      ),
    ),
  );
}
