/** Keep the focus on the page: a pressed button may disappear, and the browser then focuses nothing. */

const CHANGES = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] };

/** @type {HTMLElement|null} the element that has the focus because another is gone, until the next press */
let recovered = null;
const isGone = (element) => !element.isConnected || element.disabled === true;
const findDialog = () => [...document.querySelectorAll(".modal.show")].at(-1);
const isFocusFree = () => document.activeElement === document.body;

/** @returns {boolean} whether another part of the page may take the focus: nobody has put it where it is */
export const isFocusUnclaimed = () => document.activeElement === document.body || document.activeElement === recovered;

/** Focus an element until a part takes the focus that has more to say. @param {HTMLElement|null} element */
export function restFocus(element) {
  recovered = element;
  recovered?.focus({ preventScroll: true });
}

/** Focus the open sheet, else the message field; on touch screens, where that opens the keyboard, the conversation. */
function focusConversation() {
  const sheet = document.querySelector(".show-history .pane-history .sheet-close, .show-threads .pane-threads .sheet-close");
  const field = matchMedia("(pointer: fine)").matches && document.querySelector(".message-field textarea");
  restFocus(sheet || field || document.querySelector(".transcript .log"));
}

const FIRST_PARTS = ".modal-body[tabindex], .modal-body :is(input, select, textarea), .modal-footer button";
const focusDialog = (dialog) => restFocus(dialog.querySelector(FIRST_PARTS));

/**
 * Move the focus to the open dialog, else to the conversation, when the focused element is gone and no other part of the
 * page takes the focus.
 */
export function watchLostFocus() {
  /** @type {EventTarget|null} */
  let last = null;
  const recover = () => {
    if (last === null || !isFocusFree() || !isGone(last)) return;
    const { name } = /** @type {HTMLInputElement} */ (last);
    last = null;
    // A list that was read again may have the same field.
    const same = name && findDialog()?.querySelector(`[name="${CSS.escape(name)}"]:not(:disabled)`);
    if (same) restFocus(same);
    else if (findDialog()) focusDialog(findDialog());
    else focusConversation();
  };
  const recoverLater = () => {
    if (last === null || !isGone(last)) return; // a disabled button has the focus until the next frame
    requestAnimationFrame(() => requestAnimationFrame(recover)); // after the parts that move the focus themselves
  };
  const forgetLeft = (element) => {
    if (last === element && !isGone(element)) last = null; // a press beside it, and not its end
  };
  document.addEventListener("focusin", ({ target }) => {
    last = target;
    // Bootstrap focuses a dialog as a whole, for instance where another has closed under it.
    if (/** @type {HTMLElement} */ (target).matches(".modal.show:not(dialog)")) focusDialog(target);
  });
  for (const type of ["keydown", "pointerdown"]) document.addEventListener(type, () => (recovered = null), true);
  // In a microtask: the browser reports the loss before it takes the element out.
  document.addEventListener("focusout", ({ target }) => queueMicrotask(() => forgetLeft(target)));
  new MutationObserver(recoverLater).observe(document.body, CHANGES);
}
