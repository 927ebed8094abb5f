/** Requests of the page: whoever waits for one learns of a late, lost or failed reply. */
import { buildThreadApi } from "./addresses.mjs";
import { TOO_LONG, watchReply } from "./late-reply.mjs";
import { send } from "./send.mjs";
import { showToast } from "./toast.mjs";
import { reportLostRequest } from "./tracked-request.mjs";
import { _ } from "./words.mjs";

const NOT_DONE_TEXT = _("That did not work. Reload the page and try again.");

/** Send a request of the page. @returns {Promise<any>} null without a usable reply, of which the user knows then */
export async function request(address, body, watching = {}) {
  const { reply, status } = await send(address, {
    body,
    failureText: NOT_DONE_TEXT,
    repeats: true, // a reading, or an action with a request id
    watch: (run) => watchReply(run, watching),
  });
  if (reply !== null || status === null) return reply; // `watchReply` told of a lost one
  if (status !== TOO_LONG) showToast(NOT_DONE_TEXT);
  reportLostRequest();
  return null;
}

/**
 * Read the changes of the panels by a run that is at work.
 * @returns {Promise<any>} for `applyTurn`; null if the panels have to be read
 */
export async function readTurn(thread, run) {
  const { reply } = await send(buildThreadApi(thread, `runs/${encodeURIComponent(run)}/turn`), {
    failureText: NOT_DONE_TEXT,
  });
  return reply; // without one, the reading of the panels tells
}
