/** The messages that a summary replaced, read-only, with a button to branch from them. */
import { ReadingDialog } from "../controls/dialog.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { ReadOnlyMessage } from "./read-only-message.mjs";

const { createElement: h } = window.React;

const GONE_TEXT = _("The full text is not available: it was erased, or it is in the conversation this one was copied from.");

/** @param {{title: string, address: string, act: Function|null, onClose: () => void}} props */
export function FullText({ title, address, act, onClose }) {
  const { content, status } = useFetch(address, GONE_TEXT);
  const branch = () => {
    onClose();
    act?.("fork", { message: content.head });
  };
  const buttons =
    content && act && h("button", { type: "button", className: "btn btn-primary", onClick: branch }, _("Branch from there"));
  return h(
    ReadingDialog,
    { title, className: "full-text", buttons, onClose },
    status && h("p", { role: "status" }, status),
    content?.is_cut &&
      h(
        "p",
        { className: "quiet" },
        _("Only the last of {messages} are shown.", { messages: formatCount(content.removed, "message") }),
      ),
    content?.messages.map((message) => h(ReadOnlyMessage, { key: message.id, message })),
  );
}
