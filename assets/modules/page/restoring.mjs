/** The confirmation of a restore: a callback of Dash would send it frames after the click, and close the dialog last. */
import { sendAction } from "../lib/panels.mjs";
import { getProperties, setProperties } from "../lib/properties.mjs";

const DIALOG = "restore-dialog";
const DOUBLE_CLICK_MS = 500;

/**
 * Send a restore with the click that confirms it, and close its dialog while the server works. Without a reply the dialog is
 * open again, for the same operation: it is done once.
 */
export function watchRestore() {
  let confirmedAt = -Infinity;
  const onClick = (event) => {
    const isSecond = event.detail > 1 && event.timeStamp - confirmedAt < DOUBLE_CLICK_MS;
    const isConfirming = !isSecond && event.target.closest?.(`#${DIALOG}-confirm`);
    if (isSecond) event.stopPropagation(); // it was meant for the dialog, and what it covered is under it now
    if (isSecond) event.preventDefault();
    if (!isConfirming) return;
    confirmedAt = event.timeStamp;
    restore();
  };
  document.addEventListener("click", onClick, true);
}

async function restore() {
  const subject = getProperties(`${DIALOG}-subject`)?.data;
  if (!subject) return;
  const { thread_id: thread, request_id, version, fields } = subject;
  const keep = getProperties("restore-keep").value;
  const sending = sendAction("history", { ...fields, type: "confirm-restore", thread, request_id, version, keep });
  setProperties({ [DIALOG]: { is_open: false } });
  if (!(await sending)) setProperties({ [DIALOG]: { is_open: true } });
}
