/** The frame of the page: side panes that become sheets below 1024 px, with their focus. */
const NARROW = "(max-width: 1023.98px)";
const SHEETS = { threads: "show-threads", history: "show-history" };
const FOCUSABLE = 'button:not([disabled]), a[href], input, [tabindex="0"]';

const handledClicks = { threads: 0, history: 0 };
let opener = null;

const findShell = () => document.getElementById("shell");
const getNoUpdate = () => window.dash_clientside?.no_update;

/** @returns {boolean} whether the side panes are sheets now */
export const isNarrow = () => matchMedia(NARROW).matches;

/** Block or allow clicks and Tab in the rest of the page. It is blocked while a sheet is open. */
function setOthersInert(inert) {
  for (const part of document.querySelectorAll("#shell > .topbar, #shell > .pane-chat")) part.inert = inert;
}

function ensureBackdrop() {
  let element = document.querySelector(".backdrop");
  if (!element) {
    element = document.createElement("div");
    element.className = "backdrop";
    element.addEventListener("click", () => closeSheets());
    document.body.append(element);
  }
  return element;
}

/** Close any sheet, and return the focus to the element that opened it. @returns {boolean} whether there was one */
export function closeSheets({ restoreFocus = true } = {}) {
  const root = findShell();
  if (!root || !Object.values(SHEETS).some((name) => root.classList.contains(name))) return false;
  root.classList.remove(...Object.values(SHEETS));
  ensureBackdrop().classList.remove("shown");
  setOthersInert(false);
  if (restoreFocus && opener?.isConnected) opener.focus({ preventScroll: true });
  opener = null;
  return true;
}

/** @param {"threads"|"history"} name the sheet to show; without effect where the panes are side by side */
export function openSheet(name) {
  const root = findShell();
  if (!root || !isNarrow() || root.classList.contains(SHEETS[name])) return;
  closeSheets({ restoreFocus: false });
  opener = document.activeElement;
  root.classList.add(SHEETS[name]);
  ensureBackdrop().classList.add("shown");
  setOthersInert(true);
  const pane = root.querySelector(`.pane-${name}`);
  requestAnimationFrame(() => {
    if (!pane?.contains(document.activeElement)) pane?.querySelector(FOCUSABLE)?.focus();
  });
}

/**
 * Clientside callback: open or close the pane of the clicked button on a narrow screen.
 * @param {number|undefined} threadsClicks
 * @param {number|undefined} historyClicks
 */
export function toggleSheet(threadsClicks, historyClicks) {
  const clicks = { threads: threadsClicks ?? 0, history: historyClicks ?? 0 };
  for (const name of Object.keys(SHEETS)) {
    if (clicks[name] > handledClicks[name]) {
      if (findShell()?.classList.contains(SHEETS[name])) closeSheets();
      else openSheet(name);
    }
    handledClicks[name] = clicks[name];
  }
  return getNoUpdate();
}

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

/** Show or hide the buttons behind "More" on a phone. */
function showMore(shown) {
  document.getElementById("show-more")?.setAttribute("aria-expanded", String(shown));
  document.getElementById("more")?.classList.toggle("shown", shown);
}

/**
 * Close sheets on Escape, unless a dialog is above, and when the window becomes wide. Open "More" by its button, and close
 * it on any other press.
 */
export function watchShell() {
  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element && target.closest("#show-more");
    showMore(Boolean(button) && button.getAttribute("aria-expanded") === "false");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") showMore(false);
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector(".modal.show")) closeSheets();
  });
  matchMedia(NARROW).addEventListener("change", () => closeSheets({ restoreFocus: false }));
}
