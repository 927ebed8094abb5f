/**
 * The side panes: beside the conversation, where they fold, and below 64 em sheets over it, with their focus. The browser
 * remembers a fold and a width; first-paint.js applies them before the first paint, with the same keys.
 */
import { setProperties } from "../browser/properties.mjs";
import { keep, readKeptJson } from "../browser/storage.mjs";
import { iconButton } from "../controls/buttons.mjs";
import { nameKeys } from "../controls/commands.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { _, LANGUAGE } from "../words/words.mjs";

const { createElement: h } = window.React;

/** @param {{title: string, id: string, children?: any}} props */
export function PaneHead({ title, id, children }) {
  const close = _("Close {title}", { title: LANGUAGE === "en" ? title.toLowerCase() : title });
  return h(
    "div",
    { className: "pane-head" },
    h("h2", { id }, title),
    children,
    iconButton("x-lg", close, () => closeSheets(), { className: "sheet-close" }),
  );
}

const NARROW = "(width < 64em)";
const SMALL = "(width < 75em)"; // History is folded at first
const SHEETS = { threads: "show-threads", history: "show-history" };
const FOCUSABLE = 'button:not([disabled]), a[href], input, [tabindex="0"]';

/** The buttons of the bar. */
const BUTTONS = {
  threads: { label: _("Conversations"), keys: nameKeys("Control+B").join("+") },
  history: { label: _("History"), keys: nameKeys("Control+Alt+B").join("+") },
};

/** @type {HTMLElement|null} */
let opener = null;

const findShell = () => document.getElementById("shell");
const findPane = (name) => document.querySelector(`.pane-${name}`);
const getStorageKey = (name) => `waymark.pane.${name}`;

/** @returns {boolean} whether the side panes are sheets now */
export const isNarrow = () => matchMedia(NARROW).matches;

/** Say at the buttons of the bar which panes are shown. */
export function describePanes() {
  for (const name of /** @type {("threads"|"history")[]} */ (Object.keys(BUTTONS))) {
    const isShown = isPaneShown(name);
    const { label, keys } = BUTTONS[name];
    const title = isShown ? _("Hide {label} ({keys})", { label, keys }) : _("Show {label} ({keys})", { label, keys });
    setProperties({ [`show-${name}`]: { "aria-expanded": String(isShown), title } });
  }
}

/** @param {"threads"|"history"} name */
function isPaneShown(name) {
  if (isNarrow()) return findShell()?.classList.contains(SHEETS[name]) ?? false;
  const state = document.documentElement.getAttribute(`data-${name}`);
  return state ? state === "open" : name === "threads" || !matchMedia(SMALL).matches;
}

/**
 * Keep the fold or the width of a pane in this browser.
 * @param {"threads"|"history"} name
 * @param {{state?: string, width?: number}} change
 */
export function storePane(name, change) {
  keep(getStorageKey(name), JSON.stringify({ ...readKeptJson(getStorageKey(name)), ...change }));
}

/** Block or allow clicks and Tab in the rest of the page. It is blocked while a sheet is open. */
function setOthersInert(inert) {
  for (const part of document.querySelectorAll(".skip-links, #shell > .topbar, #shell > .pane-chat")) part.inert = inert;
}

/** Close any sheet, and return the focus to the element that opened it. @returns {boolean} whether there was one */
export function closeSheets({ restoreFocus = true } = {}) {
  const root = findShell();
  if (!root || !Object.values(SHEETS).some((name) => root.classList.contains(name))) return false;
  root.classList.remove(...Object.values(SHEETS));
  setOthersInert(false);
  if (restoreFocus && opener?.isConnected) opener.focus({ preventScroll: true });
  opener = null;
  describePanes();
  return true;
}

/**
 * Clientside callback: close any sheet, since the pressed button leads to a conversation.
 * @param {(number|undefined)[]} presses of all such buttons
 */
export function leaveSheets(presses) {
  if (presses.some(Boolean)) closeSheets({ restoreFocus: false });
}

function openSheet(name) {
  closeSheets({ restoreFocus: false });
  opener = /** @type {HTMLElement|null} */ (document.activeElement);
  findShell()?.classList.add(SHEETS[name]);
  setOthersInert(true);
  const pane = findPane(name);
  requestAnimationFrame(() => {
    if (!pane?.contains(document.activeElement)) pane?.querySelector(FOCUSABLE)?.focus();
  });
}

/** Fold or unfold a pane beside the conversation. The focus goes from a folded pane to its button. */
function setFolded(name, isFolded) {
  const state = isFolded ? "folded" : "open";
  if (isFolded && findPane(name)?.contains(document.activeElement)) document.getElementById(`show-${name}`)?.focus();
  document.documentElement.setAttribute(`data-${name}`, state);
  storePane(name, { state });
}

/** Show a pane, as a sheet or beside the conversation. @param {"threads"|"history"} name */
export function showPane(name) {
  if (isPaneShown(name)) return;
  if (isNarrow()) openSheet(name);
  else setFolded(name, false);
  describePanes();
}

/** @param {"threads"|"history"} name */
export function togglePane(name) {
  if (!isPaneShown(name)) return showPane(name);
  if (isNarrow()) return closeSheets();
  setFolded(name, true);
  return describePanes();
}

/** Toggle the conversations by Ctrl+B and History by Ctrl+Alt+B, and close sheets on Escape, unless a dialog is above. */
function onKeyDown(event) {
  if (document.querySelector(".modal.show") || event.defaultPrevented) return;
  if (event.key === "Escape") closeSheets();
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.repeat || event.code !== "KeyB") return;
  event.preventDefault();
  togglePane(event.altKey ? "history" : "threads");
}

export function watchPanes() {
  document.addEventListener("keydown", onKeyDown);
  watchClicks("#show-threads", () => togglePane("threads"));
  watchClicks("#show-history", () => togglePane("history"));
  watchClicks("#shell", (shell, { target }) => target === shell && closeSheets()); // its backdrop
  matchMedia(NARROW).addEventListener("change", () => (closeSheets({ restoreFocus: false }), describePanes()));
  matchMedia(SMALL).addEventListener("change", describePanes);
}
