/**
 * Dialogs that confirm an action: each is a form, and a list of that one action (components/dialog.py). It is sent with the
 * click, and the dialog closes with the reply: until then, Undo would mean another change.
 */
import { sendOnce } from "../lib/actions.mjs";
import { getProperties } from "../lib/properties.mjs";

export function watchConfirmations() {
  document.addEventListener("submit", (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const { dialog } = form.dataset;
    if (dialog === undefined) return;
    event.preventDefault();
    sendOnce(dialog, { ...getProperties(`${dialog}-subject`)?.data, ...Object.fromEntries(new FormData(form)) });
  });
}
