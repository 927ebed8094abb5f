/** Keys that work anywhere on the page, and the dialogs that they open. No key alone moves a conversation. */
import { readOption } from "../browser/page-options.mjs";
import { setProperties } from "../browser/properties.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { whenShown } from "../state/chosen-thread.mjs";
import { openDialogAbout } from "./callbacks.mjs";

const MAX_DOUBLE_PRESS_MS = 1000;

const isField = (element) =>
  element instanceof HTMLElement && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
/** @param {HTMLElement} element @returns {boolean} whether it is the message field, without a text */
const isEmptyField = (element) =>
  element.dataset?.testid === "composer" && /** @type {HTMLTextAreaElement} */ (element).value === "";

const isCovered = () => document.querySelector(".modal.show") !== null;

/** @param {{onlyBack?: boolean}} content of the palette */
const openPalette = (content) => isCovered() || setProperties({ palette: { data: content } });

/**
 * Undo on Ctrl+Alt+Z, redo with Shift as well. In a field with text, the keys stay the field's own.
 * @returns {boolean} whether the key is one of these
 */
function pressUndoKey(event) {
  if (event.code !== "KeyZ" || !event.altKey || !(event.ctrlKey || event.metaKey)) return false;
  if (isField(event.target) && event.target.value) return false;
  event.preventDefault();
  whenShown(() => {
    const button = /** @type {HTMLButtonElement} */ (document.getElementById(event.shiftKey ? "redo" : "undo"));
    if (button.disabled) showToast(button.title);
    else button.click();
  });
  return true;
}

/**
 * Begin a conversation on Ctrl+Shift+O, and go to the message field on Shift+Escape.
 * @returns {boolean} whether the key is one of these
 */
function pressPageKey(event) {
  const isNew = (event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey && event.key.toLowerCase() === "o";
  if (!isNew && !(event.key === "Escape" && event.shiftKey)) return false;
  event.preventDefault();
  if (isNew) document.querySelector(".new-thread")?.click();
  else document.querySelector(".message-field textarea")?.focus();
  return true;
}

/**
 * Open the palette on Ctrl+K or by its button, the list of keys on ?, and the positions to go back to on Escape twice in an
 * empty field.
 */
export function watchKeys() {
  let lastEscape = -Infinity;
  watchClicks("#open-palette", () => openPalette({}));
  document.addEventListener("keydown", (event) => {
    const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k";
    if (isFind) event.preventDefault(); // also for a repeated key: the browser would focus its own search field
    if (event.repeat || isCovered() || pressPageKey(event) || pressUndoKey(event)) return;
    const isAlone = !event.ctrlKey && !event.metaKey && !isField(event.target);
    const target = /** @type {HTMLElement} */ (event.target);
    if (isFind) {
      openPalette({});
    } else if (event.key === "?" && isAlone && readOption("single-keys")) {
      event.preventDefault();
      openDialogAbout(null, "keys-dialog");
    } else if (event.key === "Escape" && !event.defaultPrevented && isEmptyField(target)) {
      const isSecond = event.timeStamp - lastEscape < MAX_DOUBLE_PRESS_MS;
      lastEscape = isSecond ? -Infinity : event.timeStamp;
      if (!isSecond) return;
      event.preventDefault(); // else the same Escape would close the dialog that it opens
      whenShown(() => openPalette({ onlyBack: true }));
    } else lastEscape = -Infinity;
  });
}

/** Leave the keys of an input method to it: no other listener of the page hears them. */
export function watchInputMethods() {
  // keyCode 229: Safari ends a composition before the keydown of the Enter that chose the word.
  const keep = (event) => (event.isComposing || event.keyCode === 229) && event.stopImmediatePropagation();
  window.addEventListener("keydown", keep, true);
}
