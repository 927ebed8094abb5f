/** Commands of the conversation bar: each of its buttons is a line of the palette, and those with a word are slash commands. */
const BUTTONS = ".conversation-bar button[aria-label]:not(#show-more), #sessions, #theme";
const WORDS = { undo: "undo", redo: "redo", clear: "clear", settings: "settings", export: "export" }; // by the id of the button

/** @returns {import("../lib/types.mjs").Command[]} */
export const listBarCommands = () => Array.from(document.querySelectorAll(BUTTONS), describeButton);

function describeButton(button) {
  const isOff = button.disabled || button.hidden || button.getAttribute("aria-disabled") === "true";
  const name = button.getAttribute("aria-label");
  return { group: "Actions", name, word: WORDS[button.id], offReason: isOff ? `“${name}” is not possible right now.` : null, run: () => button.click() };
}
