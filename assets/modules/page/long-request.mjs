/** A long request: after a second its progress is shown, and it can be cancelled. */
import { buildApi } from "../browser/addresses.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { createRequestId } from "../state/actions.mjs";
import { ProgressBox } from "./progress-box.mjs";

const SHOWN_AFTER_MS = 1000;
const READ_EVERY_MS = 400;

/**
 * @typedef {{title: string, dialog?: string, cancel?: string}} Subject  a noun; selectors of a dialog that stays open
 *   meanwhile, and of the button in it that cancels
 * @typedef {{phase: string, done: number, total: number|null, noun: string, detail: string}} Progress  as in
 *   checkpoints/values/progress.py
 */

/**
 * Send a request, and show its progress until it has ended.
 * @template T
 * @param {Subject} subject
 * @param {(headers: {[name: string]: string}, show: (progress: Progress) => void, signal: AbortSignal) => Promise<T>} send
 *   adds the headers to the request; `show` shows progress that only the browser knows, and the server's no more; `signal`
 *   cancels a request that the server cannot end by itself, such as an upload
 * @returns {Promise<T>}
 */
export async function followRequest(subject, send) {
  const [id, cancelling, ending] = [createRequestId(), new AbortController(), new AbortController()];
  let isToldByServer = true;
  let box = /** @type {ProgressBox|null} */ (null);
  const cancel = () => {
    box?.showCancelling();
    cancelling.abort();
    // a lost request is reported itself
    fetchAsPage(buildApi(`requests/${id}/cancel`), { method: "POST" }).catch(() => undefined);
  };
  const follow = async () => {
    box ??= new ProgressBox(subject, cancel);
    const progress = isToldByServer ? await readProgress(id) : null;
    if (!isToldByServer || ending.signal.aborted) return;
    box.show(progress);
    timer = setTimeout(follow, READ_EVERY_MS);
  };
  let timer = setTimeout(follow, SHOWN_AFTER_MS);
  const show = (progress) => {
    isToldByServer = false;
    box?.show(progress);
  };
  const cancelInDialog = ({ target }) => subject.cancel && target.closest?.(subject.cancel) && cancel();
  // Before the press closes its dialog.
  document.addEventListener("click", cancelInDialog, { capture: true, signal: ending.signal });
  try {
    return await send({ "Waymark-Request": id }, show, cancelling.signal);
  } finally {
    ending.abort();
    clearTimeout(timer);
    box?.remove();
  }
}

async function readProgress(id) {
  const answer = await fetchAsPage(buildApi(`requests/${id}`)).catch(() => null);
  return answer?.status === 200 ? answer.json() : null;
}
