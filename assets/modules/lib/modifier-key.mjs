/** The key that commands of the page are pressed with, as it is named on the keyboard. */
export const MODIFIER_KEY = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
