/** The progress of a long request: a bar with words, in the open dialog of the request, else in the corner. */
import { LANGUAGE, _ } from "../words/words.mjs";

const formatExactly = (number) => number.toLocaleString(LANGUAGE);

function createElement(tag, className, properties = {}) {
  return Object.assign(document.createElement(tag), { className, ...properties });
}

/** @returns {string} such as "1,200 of 4,000 messages" */
const describeSteps = ({ done, total, noun, detail }) =>
  _("{done} of {total} {noun}", { done: formatExactly(done), total: formatExactly(total), noun }) +
  (detail && ` · ${detail}`);

export class ProgressBox {
  #subject;
  #isCancelling = false;
  #resting = []; // the buttons that wait for the end
  #phase = createElement("p", "progress-phase", { role: "status" }); // read aloud; the steps are too many for that
  #bar = createElement("div", "progress-line", { role: "progressbar", ariaValueMin: "0" });
  #steps = createElement("span", "progress-steps");
  #cancel = createElement("button", "btn btn-sm btn-outline-secondary", { type: "button", textContent: _("Cancel") });
  #box = createElement("section", "progress-box");

  /** @param {import("./long-request.mjs").Subject} subject @param {() => void} onCancel */
  constructor(subject, onCancel) {
    this.#subject = subject;
    this.#box.ariaLabel = this.#bar.ariaLabel = `${subject.title}: progress`;
    this.#cancel.addEventListener("click", onCancel);
    const foot = createElement("div", "progress-foot");
    foot.append(this.#steps, this.#cancel);
    this.#bar.append(createElement("div", "progress-done"));
    this.#box.append(this.#phase, this.#bar, foot);
  }

  /** @param {import("./long-request.mjs").Progress|null} progress null: nothing is reported yet */
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
