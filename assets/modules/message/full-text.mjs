/** The messages that a summary or a restore replaced, read-only, with a button to branch from them. */
import { button } from "../controls/buttons.mjs";
import { ReadingDialog } from "../controls/dialog.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { ReadOnlyMessage } from "./read-only-message.mjs";

const { Fragment, createElement: h, useState } = window.React;

const GONE_TEXT = _("The full text is not available: it was erased, or it is in the conversation this one was copied from.");

/**
 * A button, and the dialog that it opens.
 * @param {{name?: string, title: string, address: string, act: Function|null}} props
 */
export function FullText({ name = _("Show the full text"), ...shown }) {
  const [isOpen, setOpen] = useState(false);
  return h(
    Fragment,
    null,
    button("text-button", name, () => setOpen(true)),
    isOpen && h(FullTextDialog, { ...shown, onClose: () => setOpen(false) }),
  );
}

function FullTextDialog({ title, address, act, onClose }) {
  const { content, status } = useFetch(address, GONE_TEXT);
  const branch = () => {
    onClose();
    act("fork", { message: content.head });
  };
  const buttons = content && act && button("btn btn-primary", _("Branch from there"), branch);
  return h(
    ReadingDialog,
    { title, className: "full-text", buttons, onClose },
    status && h("p", { role: "status" }, status),
    content?.is_cut &&
      h("p", { className: "quiet" },
        _("Only the last of {messages} are shown.", { messages: formatCount(content.removed, "message") }),
      ),
    content?.messages.map((message) => h(ReadOnlyMessage, { key: message.id, message })),
  );
}
