/** A long request: after a second its progress is shown, and it can be cancelled. */
import { buildApi } from "../browser/addresses.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { createRequestId } from "../state/actions.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";

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

const createElement = (tag, className, properties = {}) =>
  Object.assign(document.createElement(tag), { className, ...properties });

/** @returns {string} such as "1,200 of 4,000 messages" */
function describeSteps({ done, total, noun, detail }) {
  const [doneText, totalText] = [done, total].map((number) => number.toLocaleString(LANGUAGE));
  return _("{done} of {total} {noun}", { done: doneText, total: totalText, noun }) + (detail && ` · ${detail}`);
}

/** A bar with words, in the open dialog of the request, else in the corner. */
class ProgressBox {
  #subject;
  #isCancelling = false;
  #resting = []; // the buttons that wait for the end
  #phase = createElement("p", "progress-phase", { role: "status" }); // read aloud; the steps are too many for that
  #bar = createElement("div", "progress-line", { role: "progressbar", ariaValueMin: "0" });
  #steps = createElement("span", "progress-steps");
  #cancel = createElement("button", "btn btn-sm btn-outline-secondary", { type: "button", textContent: _("Cancel") });
  #box = createElement("section", "progress-box");

  /** @param {Subject} subject @param {() => void} onCancel */
  constructor(subject, onCancel) {
    this.#subject = subject;
    this.#box.ariaLabel = this.#bar.ariaLabel = `${subject.title}: progress`;
    this.#cancel.addEventListener("click", onCancel);
    const foot = createElement("div", "progress-foot");
    foot.append(this.#steps, this.#cancel);
    this.#bar.append(createElement("div", "progress-done"));
    this.#box.append(this.#phase, this.#bar, foot);
  }

  /** @param {Progress|null} progress null: nothing is reported yet */
  show(progress) {
    this.#place();
    const phase = this.#isCancelling ? _("cancelling") : (progress?.phase.toLowerCase() ?? _("waiting"));
    const title = `${this.#subject.title}: ${phase}`;
    if (this.#phase.textContent !== title) this.#phase.textContent = title;
    const [total, done, steps] = progress?.total
      ? [progress.total, progress.done, describeSteps(progress)]
      : [null, null, ""];
    this.#steps.textContent = steps;
    this.#bar.classList.toggle("is-uncounted", total === null);
    this.#bar.ariaValueMax = total;
    this.#bar.ariaValueNow = done;
    this.#bar.ariaValueText = steps || null;
    this.#bar.firstChild.style.width = total === null ? "" : `${(100 * done) / total}%`;
  }

  showCancelling() {
    this.#isCancelling = true;
    this.#cancel.disabled = true;
    this.#phase.textContent = _("{title}: cancelling", { title: this.#subject.title });
  }

  remove() {
    this.#box.remove();
    for (const button of this.#resting) button.disabled = false; // the dialog may stay, with the reason of a refusal
  }

  /** Move to the dialog while it is open, whose own button cancels. */
  #place() {
    const dialog = this.#subject.dialog && document.querySelector(`${this.#subject.dialog} .modal-body`);
    const home = dialog || document.querySelector(".toasts") || document.body;
    this.#cancel.hidden = Boolean(dialog);
    if (this.#box.parentElement === home) return;
    home.append(this.#box);
    if (dialog) this.#rest(dialog.closest(".modal"));
  }

  /** Let only Cancel work in the dialog: its other buttons would begin the same work again. */
  #rest(dialog) {
    this.#box.scrollIntoView({ block: "nearest" });
    const buttons = [...dialog.querySelectorAll(`.modal-footer button:not(${this.#subject.cancel})`)];
    this.#resting = buttons.filter((button) => !button.disabled);
    const hasFocus = this.#resting.includes(document.activeElement);
    for (const button of this.#resting) button.disabled = true;
    if (hasFocus) dialog.focus(); // a disabled button loses the focus, and Escape with it
  }
}
