/** Commands of the bar: each of its buttons and items is a line of the palette, and those with a word are slash commands. */
import { _ } from "../words/words.mjs";
const BUTTONS =
  ".topbar [data-command], #undo, #redo, #more button:not([data-press], [data-run], #more-app [hidden], #more-app [hidden] *)";
// by the id of the button
const WORDS = {
  undo: "undo", redo: "redo", clear: "clear", settings: "settings", "app-settings": "app-settings", export: "export",
};

/** @returns {import("../state/types.mjs").Command[]} */
export const listBarCommands = () => Array.from(document.querySelectorAll(BUTTONS), describeButton);

function describeButton(button) {
  const isOff = button.disabled || button.hidden || button.getAttribute("aria-disabled") === "true";
  const name = button.dataset.command ?? button.getAttribute("aria-label") ?? button.textContent;
  return {
    group: _("Actions"),
    name,
    word: WORDS[button.id],
    keys: button.getAttribute("aria-keyshortcuts") ?? undefined,
    offReason: isOff ? _("“{name}” is not possible right now.", { name }) : null,
    run: () => button.click(),
  };
}
