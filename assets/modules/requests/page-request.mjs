/** Requests of the page: whoever waits for one learns of a late, lost or failed reply. */
import { buildApi, buildThreadApi } from "../browser/addresses.mjs";
import { hideToastSaying, showToast } from "../controls/toast.mjs";
import { _ } from "../words/words.mjs";
import { send } from "./send.mjs";
import { reportLostRequest } from "./tracked-request.mjs";

const NOTICE_AFTER_MS = 6000;
const TOO_LONG = 413;

const isProgressShown = () => document.querySelector(".progress-box") !== null;

const LOST_TEXT = _("The server does not answer. Try again: it won't be sent twice.");
const UNREAD_TEXT = _("The server does not answer.");
const LATE_TEXT = _("The server has not answered yet.");

let lostAt = -Infinity; // the last request without a reply

/**
 * Send a request, and show a notice if its reply is late or lost, or the request too long.
 * @param {() => Promise<Response>} send
 * @param {{retry?: (() => void)|null, isShown?: () => boolean, lostText?: string, tell?: typeof showToast}} [options]
 *   `retry` is offered when the request is lost; `isShown`: whether the page shows elsewhere that it is late or lost; `tell`
 *   says so in another place than a toast
 */
export async function watchReply(send, options = {}) {
  const { retry = null, isShown = () => false, lostText = LOST_TEXT, tell = showToast } = options;
  const begunAt = performance.now();
  const timer = setTimeout(() => isShown() || isProgressShown() || tell(LATE_TEXT), NOTICE_AFTER_MS);
  try {
    const reply = await send();
    if (begunAt > lostAt) for (const offered of [null, retry]) hideToastSaying(offered, LOST_TEXT, UNREAD_TEXT, LATE_TEXT);
    if (reply.status === TOO_LONG) {
      tell(_("This is too long to be sent. Nothing was done."));
      reportLostRequest(); // a text is kept, like one whose request was lost
    }
    return reply;
  } catch (error) {
    lostAt = performance.now();
    if (!isShown()) tell(lostText, retry);
    reportLostRequest();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const NOT_DONE_TEXT = _("That did not work. Reload the page and try again.");

/** Read panels. @returns {Promise<any>} null without a usable reply, of which the user knows then */
export const requestPanels = (page) => request(buildApi("panels"), page, { lostText: UNREAD_TEXT });

/** Send a request of the page. @returns {Promise<any>} null without a usable reply, of which the user knows then */
export async function request(address, body, watching = {}) {
  const { reply, status } = await send(address, {
    body,
    repeats: true, // a reading, or an action with a request id
    watch: (run) => watchReply(run, watching),
  });
  if (reply !== null || status === null) return reply; // `watchReply` told of a lost one
  if (status !== TOO_LONG) (watching.tell ?? showToast)(NOT_DONE_TEXT);
  reportLostRequest();
  return null;
}

/**
 * Read the changes of the panels by a run that is at work.
 * @returns {Promise<any>} for `applyTurn`; null if the panels have to be read
 */
export async function readTurn(thread, run) {
  const { reply } = await send(buildThreadApi(thread, `runs/${encodeURIComponent(run)}/turn`));
  return reply; // without one, the reading of the panels tells
}
