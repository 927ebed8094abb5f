/** A short word in the corner, said by the page itself; components/toast.py says those of the server. */

/** @param {string} text one plain sentence */
export function toast(text) {
  const { set_props: setProps } = window.dash_clientside;
  setProps("toast-text", { children: text });
  setProps("toast-undo", { style: { display: "none" } });
  setProps("toast", { is_open: true });
}
