/** The choice of the theme: light, dark or system. first-paint.js reads and applies it. */
import { keep } from "../browser/storage.mjs";

const NEXT = { system: "light", light: "dark", dark: "system" };

/** Clientside callback: apply the next choice. */
export function cycleTheme() {
  const choice = NEXT[String(document.documentElement.dataset.themeChoice)];
  keep("waymark.theme", choice);
  window.waymark.applyTheme(choice);
}
