/** The last deleted conversations, each with a button to bring it back. */
import { useSinglePress } from "../lib/single-press.mjs";
import { _ } from "../lib/words.mjs";
const { createElement: h } = window.React;

/** @param {{deleted: DeletedItem[], onBringBack: (fields: {thread: string, version: number}) => void}} props */
export function Deleted({ deleted, onBringBack }) {
  if (deleted.length === 0) return h("p", { className: "pane-empty" }, _("No deleted conversations."));
  return h(
    "ul",
    null,
    deleted.map(({ id, title, version }) =>
      h(
        "li",
        { key: id, className: "thread-row thread-deleted" },
        h("span", { className: "thread-title", title }, title),
        h(BringBackButton, { title, onPress: () => onBringBack({ thread: id, version }) }),
      ),
    ),
  );
}

/** A second press would be refused, and its reply would keep the page from going to the conversation. */
function BringBackButton({ title, onPress }) {
  const { isPending, press } = useSinglePress();
  return h(
    "button",
    {
      type: "button", className: "quiet-button", "aria-label": _("Bring back {title}", { title }),
      "aria-disabled": isPending || undefined, onClick: () => press(onPress),
    },
    _("Bring back"),
  );
}
