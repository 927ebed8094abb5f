/** The dialog of people and links (components/panels/share_dialog.py): opened for a checkpoint, and a link it has made. */
import { setProperties } from "../browser/properties.mjs";
import { copyText, explainSelection } from "../controls/copying.mjs";
import { openDialogAbout } from "../page/callbacks.mjs";
import { _ } from "../words/words.mjs";

/** @param {{id: string, name: string}} checkpoint */
export const shareCheckpoint = (checkpoint) =>
  openDialogAbout(checkpoint, "share-dialog", "share-scope", "share-let-in", "share-members");

/**
 * Clientside callback: show a link that was made, focused and selected, and copy it (components/link_field.py).
 * @param {object|undefined} _opened the dialog is opened: the link goes
 * @param {number|undefined} _clicks @param {string|undefined} link @param {string} id of its field
 */
export async function showLink(_opened, _clicks, link, id) {
  const field = /** @type {HTMLInputElement|null} */ (document.getElementById(id));
  const trigger = window.dash_clientside.callback_context.triggered_id;
  const isShown = Boolean(link) && (trigger === id || trigger === `${id}-copy`);
  if (!isShown && link) setProperties({ [id]: { value: "" } });
  if (trigger !== `${id}-copy`) {
    if (isShown) requestAnimationFrame(() => (field?.focus(), field?.select()));
    return [!isShown, _("Copy"), ""];
  }
  const isCopied = await copyText(link ?? "", field);
  return [false, isCopied ? _("Copied") : _("Copy"), isCopied ? "" : explainSelection()];
}
