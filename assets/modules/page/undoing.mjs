/** The buttons of the bar and of a toast that change the conversation. Undo and Redo mean the newest change that is seen. */
import { sendOnce } from "../lib/actions.mjs";
import { getProperties } from "../lib/properties.mjs";
import { findSeenVersion } from "../lib/seen-version.mjs";

/** The press of each button, by its id. @type {Record<string, () => void>} */
const PRESSES = {
  undo: () => sendOnce("log", { type: "undo", ...readShownState() }),
  redo: () => sendOnce("log", { type: "redo", ...readShownState() }),
  clear: () => sendOnce("history", { type: "clear" }),
  "toast-undo": () => sendOnce("toast", { type: "undo", ...getProperties("toast-where").data }),
};
const BUTTONS = Object.keys(PRESSES)
  .map((id) => `#${id}`)
  .join();

export function watchUndo() {
  document.addEventListener("click", ({ target }) => PRESSES[/** @type {Element} */ (target).closest?.(BUTTONS)?.id]?.());
}

/** The stream may have shown more than the panels know yet. */
function readShownState() {
  const { thread, version } = getProperties("undo-state").data;
  return { thread, version: findSeenVersion(thread, version) };
}
