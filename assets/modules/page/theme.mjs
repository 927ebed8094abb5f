/** Theme: light, dark or system has it. early.js applies the choice before the first paint, with the same key. */
const KEY = "waymark.theme";
const CHOICES = ["light", "dark", "system"];

const systemDark = () => matchMedia("(prefers-color-scheme: dark)");

function readChoice() {
  try {
    const choice = localStorage.getItem(KEY);
    return CHOICES.includes(choice) ? choice : "system";
  } catch {
    return "system"; // storage is blocked
  }
}

function storeChoice(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the choice holds until the page is left.
  }
}

/** @param {string} choice one of CHOICES */
function applyChoice(choice) {
  const dark = choice === "dark" || (choice === "system" && systemDark().matches);
  const root = document.documentElement;
  root.setAttribute("data-bs-theme", dark ? "dark" : "light");
  root.setAttribute("data-theme-choice", choice);
}

/**
 * A clientside callback: every click goes to the next choice.
 * @param {number|undefined} clicks nothing yet: only tell the choice
 * @param {string|null} [current] the choice now; without it, the stored one
 * @returns {string} the choice that holds
 */
export function theme(clicks, current) {
  const now = CHOICES.includes(current) ? current : readChoice();
  const choice = clicks ? CHOICES[(CHOICES.indexOf(now) + 1) % CHOICES.length] : readChoice();
  if (clicks) storeChoice(choice);
  applyChoice(choice);
  return choice;
}

/** Follow the system when it turns dark in the evening. */
export function watchSystemTheme() {
  systemDark().addEventListener("change", () => {
    if (document.documentElement.getAttribute("data-theme-choice") === "system") applyChoice("system");
  });
}
