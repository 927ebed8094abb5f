/** A long request: after a second its progress is shown, and it can be cancelled. */
import { buildApi } from "../browser/addresses.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { createRequestId } from "../state/actions.mjs";
import { ProgressBox } from "./progress-box.mjs";

const SHOWN_AFTER_MS = 1000;
const READ_EVERY_MS = 400;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

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
  const request = new LongRequest(subject);
  request.start();
  try {
    return await send(request.headers, request.show, request.signal);
  } finally {
    request.end();
  }
}

class LongRequest {
  #subject;
  #id = createRequestId();
  #abort = new AbortController();
  /** @type {import("./progress-box.mjs").ProgressBox|null} */
  #box = null;
  #isEnded = false;
  #isRead = true;

  constructor(subject) {
    this.#subject = subject;
  }

  get headers() {
    return { "Waymark-Request": this.#id };
  }

  get signal() {
    return this.#abort.signal;
  }

  start() {
    document.addEventListener("click", this.#cancelInDialog, true); // before the press closes its dialog
    this.#follow();
  }

  show = (progress) => {
    this.#isRead = false;
    this.#box?.show(progress);
  };

  end() {
    this.#isEnded = true;
    document.removeEventListener("click", this.#cancelInDialog, true);
    this.#box?.remove();
  }

  async #follow() {
    await wait(SHOWN_AFTER_MS);
    if (this.#isEnded) return;
    this.#box = new ProgressBox(this.#subject, this.#cancel);
    while (!this.#isEnded && this.#isRead) {
      await this.#readProgress();
      await wait(READ_EVERY_MS);
    }
  }

  async #readProgress() {
    const answer = await fetchAsPage(buildApi(`requests/${this.#id}`)).catch(() => null);
    const progress = answer?.status === 200 ? await answer.json() : null;
    if (!this.#isEnded && this.#isRead) this.#box?.show(progress);
  }

  #cancel = () => {
    this.#box?.showCancelling();
    this.#abort.abort();
    // a lost request is reported itself
    fetchAsPage(buildApi(`requests/${this.#id}/cancel`), { method: "POST" }).catch(() => undefined);
  };

  #cancelInDialog = (event) => {
    if (this.#subject.cancel && event.target.closest?.(this.#subject.cancel)) this.#cancel();
  };
}
