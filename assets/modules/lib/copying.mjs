/** Copying, also over plain http away from localhost, where pages have no clipboard. */
import { buildAddress } from "./addresses.mjs";
import { MODIFIER_KEY } from "./modifier-key.mjs";
import { showToast } from "./toast.mjs";
import { _ } from "./words.mjs";

/**
 * Copy a text.
 * @param {string} text
 * @param {Element|null} [shown] what shows the text: selected where the browser allows no way to copy it
 * @returns {Promise<boolean>} whether the text is on the clipboard
 */
export async function copyText(text, shown = null) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (copyBySelection(text)) return true;
  }
  if (shown instanceof HTMLInputElement) shown.select();
  else if (shown) document.getSelection()?.selectAllChildren(shown);
  return false;
}

/** @returns {string} a sentence for a text that is selected, and was not copied */
export const explainSelection = () =>
  _("Copying was not allowed. The text is selected: copy it with {keys}.", { keys: `${MODIFIER_KEY} C` });

function copyBySelection(text) {
  const area = document.createElement("textarea");
  const before = /** @type {HTMLElement|null} */ (document.activeElement);
  area.value = text;
  area.className = "visually-hidden";
  // Outside an open dialog, nothing can be selected.
  ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  before?.focus();
  return isCopied;
}

/**
 * Copy the address of a conversation or of a place in it, and tell so.
 * @param {string} thread @param {import("./addresses.mjs").Place} [place]
 */
export async function copyLink(thread, place) {
  const address = buildAddress(thread, place);
  if (await copyText(address)) showToast(_("Link copied"));
  // Nothing on the page shows it.
  else window.prompt(_("Copying was not allowed. Copy the link here:"), address);
}
