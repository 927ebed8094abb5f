/** Toasts of the page itself. Those of the server come from components/panels/toast.py. */

/** @param {string} text one plain sentence */
export function showToast(text) {
  const { set_props: setProps } = window.dash_clientside;
  setProps("toast-text", { children: text });
  setProps("toast-undo", { style: { display: "none" } });
  setProps("toast", { is_open: true });
}
