/** Theme: light, dark or system. first-paint.js applies the choice before the first paint, with the same key. */
const KEY = "waymark.theme";
const CHOICES = ["light", "dark", "system"];

const matchSystemDark = () => matchMedia("(prefers-color-scheme: dark)");

function readChoice() {
  try {
    const choice = localStorage.getItem(KEY) ?? "";
    return CHOICES.includes(choice) ? choice : "system";
  } catch {
    return "system"; // storage is blocked
  }
}

function storeChoice(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
}

/** @param {string} choice one of CHOICES */
function applyChoice(choice) {
  const dark = choice === "dark" || (choice === "system" && matchSystemDark().matches);
  const root = document.documentElement;
  root.setAttribute("data-bs-theme", dark ? "dark" : "light");
  root.setAttribute("data-theme-choice", choice);
  // Of the window around an installed page.
  const color = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=theme-color]"));
  color.content = String(dark ? color.dataset.dark : color.dataset.light);
}

/**
 * Clientside callback: apply the next choice after a click, and the stored one before.
 * @param {number|undefined} clicks undefined before the first click
 * @param {string|null} [current] the current choice; without it, the stored one
 * @returns {string} the applied choice
 */
export function cycleTheme(clicks, current) {
  const now = current && CHOICES.includes(current) ? current : readChoice();
  const choice = clicks ? CHOICES[(CHOICES.indexOf(now) + 1) % CHOICES.length] : readChoice();
  if (clicks) storeChoice(choice);
  applyChoice(choice);
  return choice;
}

/** Follow the system between light and dark. */
export function watchSystemTheme() {
  matchSystemDark().addEventListener("change", () => {
    if (document.documentElement.getAttribute("data-theme-choice") === "system") applyChoice("system");
  });
}
