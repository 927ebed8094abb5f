/** The ways to the dialog that connects a model, where the server can keep its settings. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useState } = window.React;

const ConnectDialog = lazy(
  () => import("./connect-dialog.lazy.mjs"),
  "ConnectDialog",
  _("This could not be loaded. Please try again."),
);

/** @returns {[() => void, object|false]} what opens the dialog, and the dialog to render */
export function useConnecting() {
  const [isOpen, setOpen] = useState(false);
  return [() => setOpen(true), isOpen && h(ConnectDialog, { onClose: () => setOpen(false) })];
}

/** The line under the field for the demo model. @param {{text: string, canConnect: boolean}} props */
export function DemoHint({ text, canConnect }) {
  const [open, dialog] = useConnecting();
  if (!canConnect) return text;
  return h(
    "span",
    null,
    text,
    " ",
    h(
      "button",
      { type: "button", className: "text-button connect-button", "data-testid": "connect", onClick: open },
      _("Connect a model"),
    ),
    dialog,
  );
}
