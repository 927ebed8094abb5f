/** The confirmation of a restore: a callback of Dash would send it frames after the click. */
import { sendAction } from "../lib/panels.mjs";
import { getProperties } from "../lib/properties.mjs";

const DIALOG = "restore-dialog";

/** Send a restore with the click that confirms it. Its dialog closes with the reply: until then, Undo would mean another. */
export function watchRestore() {
  document.addEventListener("click", ({ target, detail }) => {
    if (detail < 2 && target.closest?.(`#${DIALOG}-confirm`)) restore();
  });
}

function restore() {
  const subject = getProperties(`${DIALOG}-subject`)?.data;
  if (!subject) return;
  const { thread_id: thread, request_id, version, fields } = subject;
  const keep = getProperties("restore-keep").value;
  sendAction("history", { ...fields, type: "confirm-restore", thread, request_id, version, keep });
}
