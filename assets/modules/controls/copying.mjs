/** Copying, also over plain http away from localhost, where pages have no clipboard. */
import { buildAddress } from "../browser/addresses.mjs";
import { _ } from "../words/words.mjs";
import { nameKeys } from "./commands.mjs";
import { showToast } from "./toast.mjs";

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
  _("Copying was not allowed. The text is selected: copy it with {keys}.", { keys: nameKeys("Control+C").join("+") });

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
 * @param {string} thread @param {import("../browser/addresses.mjs").Place} [place]
 */
export async function copyLink(thread, place) {
  const address = buildAddress(thread, place);
  if (await copyText(address)) showToast(_("Link copied"));
  // Nothing on the page shows it.
  else window.prompt(_("Copying was not allowed. Copy the link here:"), address);
}

/** Put the TeX of the selected formulas into what is copied as text. Copied as HTML they stay formulas. */
export function watchFormulaCopies() {
  document.addEventListener("copy", (event) => {
    const selection = document.getSelection();
    const target = /** @type {Element} */ (event.target);
    if (selection === null || selection.isCollapsed || target.closest?.("input, textarea")) return;
    const range = selection.getRangeAt(0);
    const within = findFormula(range.commonAncestorContainer);
    const copy = document.createElement("div");
    copy.append(within ? within.cloneNode(true) : range.cloneContents());
    const formulas = copy.querySelectorAll("[data-tex]");
    if (formulas.length === 0) return;
    event.preventDefault();
    event.clipboardData?.setData("text/html", copy.innerHTML);
    for (const formula of formulas) formula.textContent = formula.dataset.tex ?? "";
    event.clipboardData?.setData("text/plain", readText(copy));
  });
}

const findFormula = (node) => (node instanceof Element ? node : node.parentElement)?.closest("[data-tex]");

/** Return the text as the page would show it, with its line breaks. */
function readText(element) {
  element.className = "visually-hidden prose";
  document.body.append(element);
  const text = element.innerText;
  element.remove();
  return text;
}
