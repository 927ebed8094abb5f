/** The ways to the dialog that connects a model (components/panels/connect_dialog.py). */
import { button } from "../controls/buttons.mjs";
import { openDialogAbout } from "../page/callbacks.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

export const connectModel = () => openDialogAbout(null, "connect-dialog", "connect-fields");

/**
 * Clientside callback: empty the fields of the dialog once it is closed. A key stays in none.
 * @param {boolean} isOpen @param {string[]} values
 */
export const forgetConnection = (isOpen, values) => values.map((value) => (isOpen ? value : ""));

/** The line under the field for the demo model. @param {{text: string, canConnect: boolean}} props */
export function DemoHint({ text, canConnect }) {
  if (!canConnect) return text;
  const connect = button("text-button connect-button", _("Connect a model"), connectModel, { "data-testid": "connect" });
  return h("span", null, text, " ", connect);
}
