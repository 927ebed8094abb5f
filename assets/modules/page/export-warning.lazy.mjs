/** The question before an export is saved that no import takes. */
import { ReadingDialog } from "../lib/dialog.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

/** @param {{warning: string, onSave: () => void, onClose: () => void}} props */
export function ExportWarning({ warning, onSave, onClose }) {
  const save = () => (onSave(), onClose());
  const button = h("button", { type: "button", className: "btn btn-primary", onClick: save }, _("Save anyway"));
  return h(
    ReadingDialog,
    { title: _("This export cannot be imported again"), className: "export-warning", buttons: button, onClose },
    h("p", null, warning),
    h("p", null, _("The file is complete, and other programs can read it.")),
  );
}
