/** Toasts of the page itself. Those of the server come from components/panels/toast.py. */

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
  const { set_props: setProps } = window.dash_clientside;
  const { text, undo } = update.toast;
  setProps("toast-text", { children: text });
  setProps("toast-undo", { style: undo ? {} : { display: "none" } });
  if (undo) setProps("toast-where", { data: undo });
  setProps("toast", { is_open: true });
}
