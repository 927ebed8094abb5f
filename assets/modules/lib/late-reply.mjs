/** Tell the user about a server that does not answer. */
import { showToast } from "./toast.mjs";
import { reportLostRequest } from "./tracked-request.mjs";
import { _ } from "./words.mjs";

const NOTICE_AFTER_MS = 6000;
export const TOO_LONG = 413;

const isProgressShown = () => document.querySelector(".progress-box") !== null;

/**
 * Send a request, and show a notice if its reply is late or lost, or the request too long.
 * @param {() => Promise<Response>} send
 * @param {{retry?: (() => void)|null, isShown?: () => boolean}} [options] `retry` is offered when the request is lost;
 *   `isShown`: whether the page shows elsewhere that it is late or lost
 */
export async function watchReply(send, { retry = null, isShown = () => false } = {}) {
  const timer = setTimeout(
    () => isShown() || isProgressShown() || showToast(_("The server has not answered yet.")),
    NOTICE_AFTER_MS,
  );
  try {
    const reply = await send();
    if (reply.status === TOO_LONG) {
      showToast(_("This is too long to be sent. Nothing was done."));
      reportLostRequest(); // a text is kept, like one whose request was lost
    }
    return reply;
  } catch (error) {
    if (!isShown()) showToast(_("The server does not answer. Try again: it won't be sent twice."), retry);
    reportLostRequest();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
