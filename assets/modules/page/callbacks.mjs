/** Clientside callbacks of Dash's dialogs and addresses. */
import { setProperties } from "../lib/properties.mjs";

const getNoUpdate = () => window.dash_clientside?.no_update;

/**
 * Clientside callback: focus an element once its dialog is shown.
 * @param {boolean} isOpen
 * @param {string} elementId
 */
export function focusInDialog(isOpen, elementId) {
  if (isOpen) {
    // The dialog appears some frames later and first takes the focus itself. Give up after a second.
    const until = performance.now() + 1000;
    const attempt = () => {
      const element = document.getElementById(elementId);
      if (element && element.offsetParent !== null && element.closest(".modal.show, .offcanvas.show")) element.focus();
      if (document.activeElement !== element && performance.now() < until) requestAnimationFrame(attempt);
    };
    requestAnimationFrame(attempt);
  }
  return getNoUpdate();
}

/** Clientside callback: close the dialog, whatever triggered it. The last value is whether it is open. */
export function closeDialog(...values) {
  return values.at(-1) ? false : getNoUpdate();
}

/**
 * Clientside callback: navigate to the address that a command returned, unless the page is already there.
 * @param {{go?: string}|undefined} head
 */
export function navigate(head) {
  return head?.go && head.go !== location.pathname ? head.go : getNoUpdate();
}

/**
 * Clientside callback: open a dialog, and let its content be read anew. What it showed before goes. It is about the row of
 * its button, where that has one.
 * @param {object} _clicks of its button, or of the buttons of all rows
 * @param {string} dialog its id
 * @param {...string} parts of it that a reading fills
 */
export function openDialog(_clicks, dialog, ...parts) {
  const { triggered, triggered_id: button } = window.dash_clientside.callback_context;
  if (!triggered[0]?.value) return [getNoUpdate(), getNoUpdate()]; // a row has appeared
  clearDialog(dialog, parts);
  return [true, { at: Date.now(), about: button?.row ?? null }];
}

/**
 * Clientside callback: read an open dialog again, since the conversation has changed.
 * @param {object|undefined} _update @param {boolean} isOpen
 */
export const readAgain = (_update, isOpen) => (isOpen ? Date.now() : getNoUpdate());

/**
 * Open a dialog, perhaps about a part of the conversation.
 * @param {object|null} about @param {string} dialog its id
 * @param {...string} parts of it that a reading fills
 */
export function openDialogAbout(about, dialog, ...parts) {
  clearDialog(dialog, parts);
  setProperties({ [dialog]: { is_open: true }, [`${dialog}-opened`]: { data: { at: Date.now(), about } } });
}

function clearDialog(dialog, parts) {
  for (const part of [`${dialog}-body`, ...parts]) setProperties({ [part]: { children: [] } });
  setProperties({ [`${dialog}-problem`]: { hidden: true } });
}

/** Clientside callback: empty the fields of a dialog that has opened or closed. */
export const clearFields = (_isOpen, ...fields) => fields.map(() => "");
