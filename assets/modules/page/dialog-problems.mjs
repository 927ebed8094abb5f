/** A request of an open dialog that failed: its sentence stands in the dialog (components/dialog.py). */
import { setProperties } from "../lib/properties.mjs";
import { readRefusal } from "../lib/send.mjs";
import { _ } from "../lib/words.mjs";

const LOST_TEXT = _("The server does not answer.");
const FAILED_TEXT = _("That did not work. Please try again.");

/** @returns {string|undefined} the id of the line in the dialog that is open, where it has one */
export const findProblemLine = () => [...document.querySelectorAll(".modal.show .dialog-problem")].at(-1)?.id;

/**
 * Run a request that a dialog makes, and show there what became of it.
 * @param {string} line @param {() => Promise<Response>} send
 */
export async function sendFromDialog(line, send) {
  try {
    const reply = await send();
    if (reply.ok) setProperties({ [line]: { hidden: true } });
    else showProblem(line, await readRefusal(reply.clone(), FAILED_TEXT));
    return reply;
  } catch (error) {
    showProblem(line, LOST_TEXT);
    throw error;
  }
}

const showProblem = (line, text) => setProperties({ [`${line}-text`]: { children: text }, [line]: { hidden: false } });

/** Read a dialog again when the network is back that its last request did not find. */
export function watchNetworkReturn() {
  addEventListener("online", () => {
    for (const button of document.querySelectorAll(".modal.show .dialog-problem:not([hidden]) > button")) button.click();
  });
}
