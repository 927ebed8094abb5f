/** Toasts of the page itself. Those of the server come from components/panels/toast.py. */
import { setProperties } from "./properties.mjs";

/** @param {string} text one plain sentence */
export function showToast(text) {
  showUpdateToast({ toast: { text, undo: null } });
}

/**
 * Clientside callback: show the toast of a page update.
 * @param {{toast?: {text: string, undo: {thread: string, version: number}|null}}|undefined} update
 */
export function showUpdateToast(update) {
  if (!update?.toast) return;
  const { text, undo } = update.toast;
  setProperties({
    "toast-text": { children: text },
    "toast-undo": { style: undo ? {} : { display: "none" } },
    ...(undo && { "toast-where": { data: undo } }),
    toast: { is_open: true },
  });
}
