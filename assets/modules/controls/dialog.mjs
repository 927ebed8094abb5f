/** Native dialogs. */
import { _ } from "../words/words.mjs";
import { button } from "./buttons.mjs";
import { useListener } from "./listening.mjs";

const { createElement: h, useId, useLayoutEffect, useRef } = window.React;

/**
 * Show a native dialog while the component is mounted. Navigation to another address closes it.
 * @param {() => void} onClose
 */
export function useDialog(onClose) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    return () => element.close(); // returns the focus to the element that had it
  }, []);
  useListener(window, "popstate", onClose);
  return dialog;
}

/**
 * A dialog with text to read.
 * @param {{title: string, size?: "lg"|"xl", className: string, buttons?: any, onClose: () => void, children: any}} props
 */
export function ReadingDialog({ title, size = "lg", className, buttons = null, onClose, children }) {
  const id = useId();
  const dialog = useDialog(onClose);
  return h(
    "dialog",
    {
      ref: dialog, className: "modal show", "aria-labelledby": id, onCancel: (event) => (event.preventDefault(), onClose()),
    },
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
          button("btn btn-outline-secondary", _("Close"), onClose),
          buttons,
        ),
      ),
    ),
  );
}
