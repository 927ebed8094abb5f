/** Clientside callbacks of Dash's dialogs and addresses, dialogs that confirm an action, and requests of an open dialog. */
import { setProperties, getProperties } from "../browser/properties.mjs";
import { showToast } from "../controls/toast.mjs";
import { readRefusal } from "../requests/send.mjs";
import { sendOnce } from "../state/actions.mjs";
import { _ } from "../words/words.mjs";

const getNoUpdate = () => window.dash_clientside?.no_update;

/** Return the id of the button that was pressed; null where a row has appeared, which Dash tells like a press. */
export function findPressed() {
  const { triggered, triggered_id: pressed } = window.dash_clientside.callback_context;
  return triggered[0]?.value ? pressed : null;
}

/** Clientside callback: close the dialog, whatever triggered it. The last value is whether it is open. */
export function closeDialog(...values) {
  return values.at(-1) ? false : getNoUpdate();
}

/** Clientside callback: open a dialog that needs nothing of the server. */
export const showDialog = (clicks) => (clicks ? true : getNoUpdate());

/**
 * Clientside callback: navigate to the address that a command returned, unless the page is already there.
 * @param {{go?: string}|undefined} head
 */
export function navigate(head) {
  return head?.go && head.go !== location.pathname ? head.go : getNoUpdate();
}

/**
 * Clientside callback: open a dialog about the row of its button, where that has one.
 * @param {object} _clicks of its button, or of the buttons of all rows
 * @param {string} dialog its id
 * @param {...string} parts of it that a reading fills
 */
export function openDialog(_clicks, dialog, ...parts) {
  const pressed = findPressed();
  if (pressed !== null) openDialogAbout(pressed.row ?? null, dialog, ...parts);
}

/**
 * Clientside callback: read an open dialog again, since the conversation has changed.
 * @param {object|undefined} _update @param {boolean} isOpen
 */
export const readAgain = (_update, isOpen) => (isOpen ? Date.now() : getNoUpdate());

/**
 * Open a dialog, perhaps about a part of the conversation, and let its content be read anew. What it showed before goes.
 * @param {object|null} about @param {string} dialog its id
 * @param {...string} parts of it that a reading fills
 */
export function openDialogAbout(about, dialog, ...parts) {
  for (const part of [`${dialog}-body`, ...parts]) setProperties({ [part]: { children: [] } });
  setProperties({
    [`${dialog}-problem`]: { hidden: true },
    [dialog]: { is_open: true },
    [`${dialog}-opened`]: { data: { at: Date.now(), about } },
  });
}

/** Clientside callback: empty the fields of a dialog that has opened or closed. */
export const clearFields = (_isOpen, ...fields) => fields.map(() => "");

/** Send what a dialog confirms. It stays open until the reply, and says itself that there is none yet. */
export function watchConfirmations() {
  document.addEventListener("submit", (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const { dialog } = form.dataset;
    if (dialog === undefined) return;
    event.preventDefault();
    const button = /** @type {HTMLElement} */ (document.getElementById(`${dialog}-confirm`));
    const action = { ...getProperties(`${dialog}-subject`)?.data, ...Object.fromEntries(new FormData(form)) };
    button.setAttribute("aria-disabled", "true");
    const tell = (text, retry) => (form.closest(".modal.show") ? refuseInDialog(dialog, text) : showToast(text, retry));
    sendOnce(dialog, action, { tell, onEnd: () => button.removeAttribute("aria-disabled") });
  });
}

const LOST_TEXT = _("The server does not answer.");
const FAILED_TEXT = _("That did not work. Please try again.");
const READING = /"changedPropIds":\["[\w-]+-(?:opened\.data|changed\.data|again\.n_clicks)"\]/;
const NOTHING_DONE = 204; // a row has appeared, which Dash tells like a press
const MAX_UNSENT_MS = 1000; // a press that sends nothing in this time will not: a field is empty

/** @type {Set<string>} the lines whose sentence is of a reading: another reading may take it away */
const ofReading = new Set();
/** @type {{line: string, button: HTMLElement}|null} the press whose change was lost: “Try again” presses once more */
let lostPress = null;
/** @type {{mark: string, button: HTMLElement, isSent: boolean}|null} the press whose request has not ended */
let press = null;

/** @returns {string|undefined} the id of the line in the dialog that is open, where it has one */
export const findProblemLine = () => [...document.querySelectorAll(".modal.show .dialog-problem")].at(-1)?.id;

/**
 * Run a request that a dialog makes, and show there what became of it. That a change failed is said until one succeeds.
 * @param {string} line @param {string} body @param {() => Promise<Response>} send
 */
export async function sendFromDialog(line, body, send) {
  const isReading = READING.test(body);
  const ownPress = press !== null && body.includes(`"changedPropIds":["${press.mark}.`) ? press : null;
  if (ownPress) ownPress.isSent = true;
  ownPress?.button.setAttribute("aria-disabled", "true"); // its request is under way
  if (body.includes('-opened.data"]')) focusFirstField(line);
  if (isReading && isHidden(line)) offerReading(line);
  if (!isReading) offerAgain(line, false);
  try {
    const reply = await send();
    if (!reply.ok) showProblem(line, await readRefusal(reply.clone(), FAILED_TEXT), isReading);
    else if (isReading ? ofReading.has(line) : reply.status !== NOTHING_DONE) setProperties({ [line]: { hidden: true } });
    return reply;
  } catch (error) {
    showProblem(line, LOST_TEXT, isReading);
    if (!isReading && ownPress) offerPress(line, ownPress.button);
    throw error;
  } finally {
    if (press === ownPress) press = null;
    ownPress?.button.removeAttribute("aria-disabled");
  }
}

const FIRST_FIELDS = ":is(#settings-form, #app-settings-form, #connect-form) :is(select, textarea, input):enabled";
const UNMOVED = "body, .modal, .modal-body, .modal-footer > [id$='-cancel']"; // has the focus at first

/** Focus the first field of a form that a reading brings, unless the person has gone on; on touch it opens the keyboard. */
function focusFirstField(line) {
  const dialog = document.getElementById(line)?.closest(".modal");
  if (!dialog || !matchMedia("(pointer: fine)").matches) return;
  const observer = new MutationObserver(() => {
    /** @type {HTMLElement|null} */
    const field = dialog.querySelector(FIRST_FIELDS);
    if (!field) return;
    observer.disconnect();
    if (document.activeElement?.matches(UNMOVED)) field.focus();
  });
  observer.observe(dialog, { childList: true, subtree: true });
}

const isHidden = (line) => getProperties(line)?.hidden !== false;

/** Show “Try again” beside a sentence, or hide it. */
function offerAgain(line, isOffered) {
  const button = document.getElementById(line.replace(/problem$/, "again"));
  if (button !== null && button.hidden === isOffered) setProperties({ [button.id]: { hidden: !isOffered } });
}

/** Offer to read a dialog again. */
function offerReading(line) {
  ofReading.add(line);
  offerAgain(line, true);
}

/** Offer to send a change again, with what the fields hold then. */
function offerPress(line, button) {
  lostPress = { line, button };
  offerAgain(line, true);
}

/** Say in a dialog why nothing was done: no request was made. */
export function refuseInDialog(dialog, text) {
  const line = `${dialog}-problem`;
  offerAgain(line, false);
  showProblem(line, text, false);
}

function showProblem(line, text, isReading) {
  if (isReading && !isHidden(line) && !ofReading.has(line)) return; // a change failed, which matters more
  lostPress = null;
  if (isReading) offerReading(line);
  else ofReading.delete(line);
  setProperties({ [`${line}-text`]: { children: text }, [line]: { hidden: false } });
}

/** Read a dialog again when the network is back that its last request did not find. It never repeats a change. */
export function watchNetworkReturn() {
  addEventListener("online", () => {
    for (const button of document.querySelectorAll(".modal.show .dialog-problem:not([hidden]) > button")) button.click();
  });
  const repeatPress = (event) => {
    if (!event.isTrusted) return;
    const line = event.target.closest?.(".dialog-problem > button")?.parentElement.id;
    const button = lostPress?.line === line && !ofReading.has(line) ? lostPress?.button : null;
    if (!button) return;
    if (!button.isConnected) return void ofReading.add(line); // another reading has removed its row: read them anew
    event.stopImmediatePropagation();
    button.click();
  };
  document.addEventListener("click", repeatPress, true); // before Dash, which would read the dialog
}

/** Let a button with `data-once` be pressed once: it does nothing, and says so, until its request has ended. */
export function watchRepeatedPresses() {
  document.addEventListener(
    "click",
    (event) => {
      if (event.detail > 1 && /** @type {Element} */ (event.target).matches?.(".modal")) {
        event.stopImmediatePropagation(); // the first click of a double one has opened the dialog: the second closes none
        return;
      }
      /** @type {HTMLButtonElement|null|undefined} */
      const button = /** @type {Element} */ (event.target).closest?.(".modal.show [data-once]");
      if (!button) return;
      if (press !== null) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return;
      }
      const own = { mark: JSON.stringify((button.form ?? button).id).slice(1, -1), button, isSent: false };
      press = own;
      setTimeout(() => press === own && !own.isSent && (press = null), MAX_UNSENT_MS);
    },
    true, // before anybody else
  );
}

/** Clientside callback: whether a name is not yet written as that of the row that a dialog is about. */
export const isUnconfirmed = ([typed], opened) => !typed || typed !== opened?.about;
