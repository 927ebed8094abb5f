/** Native dialogs. */
import { _ } from "../words/words.mjs";
import { button } from "./buttons.mjs";
import { useListener } from "./listening.mjs";

const { createElement: h, useId, useLayoutEffect, useRef } = window.React;
const { createPortal } = window.ReactDOM;

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
 * A dialog with text to read, at the end of the page: its opener may stand in a paragraph.
 * @param {{title: string, size?: "lg"|"xl", className: string, buttons?: any, close?: string, onClose: () => void,
 *   children: any}} props
 */
export function ReadingDialog({ title, size = "lg", className, buttons = null, close = _("Close"), onClose, children }) {
  const id = useId();
  const dialog = useDialog(onClose);
  const onCancel = (event) => (event.preventDefault(), onClose());
  const element = h("dialog", { ref: dialog, className: "modal show", "aria-labelledby": id, onCancel },
    h("div", { className: `modal-dialog modal-dialog-centered modal-dialog-scrollable modal-${size}` },
      h(
        "div",
        { className: "modal-content" },
        h("div", { className: "modal-header" }, h("h2", { className: "modal-title", id }, title)),
        h("div", { className: `modal-body ${className}`, tabIndex: 0 }, children),
        h(
          "div",
          { className: "modal-footer" },
          button("btn btn-outline-secondary", close, onClose),
          buttons,
        ),
      ),
    ),
  );
  return createPortal(element, document.body);
}
