/** Dialogs that are confirmed by a request of the page: a callback of Dash would send it frames after the click. */
import { sendAction } from "../lib/panels.mjs";
import { getProperties } from "../lib/properties.mjs";

/** The actions of History by their dialogs. @type {Record<string, (subject: {fields: object}) => object>} */
const CONFIRMED = {
  "restore-dialog": ({ fields }) => ({
    ...fields,
    type: "confirm-restore",
    keep: getProperties("restore-keep").value,
  }),
  "clear-dialog": () => ({ type: "confirm-clear" }),
};
const CONFIRM_BUTTON = Object.keys(CONFIRMED)
  .map((dialog) => `#${dialog}-confirm`)
  .join();

/** Send an action with the click that confirms it. Its dialog closes with the reply: until then, Undo would mean another. */
export function watchConfirmations() {
  document.addEventListener("click", ({ target, detail }) => {
    const button = detail < 2 ? target.closest?.(CONFIRM_BUTTON) : null;
    if (button) confirm(button.id.replace(/-confirm$/, ""));
  });
}

function confirm(dialog) {
  const subject = getProperties(`${dialog}-subject`)?.data;
  if (!subject) return;
  const { thread_id: thread, request_id, version } = subject;
  sendAction("history", { ...CONFIRMED[dialog](subject), thread, request_id, version });
}
