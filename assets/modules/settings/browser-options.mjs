/** Clientside callbacks of the options of this browser (components/browser_options.py), and of its theme. */
import { buildPath } from "../browser/addresses.mjs";
import { readOption, storeOption } from "../browser/page-options.mjs";
import { getProperties, setProperties } from "../browser/properties.mjs";
import { keep } from "../browser/storage.mjs";
import { refuseInDialog } from "../page/callbacks.mjs";
import { NOTIFY, switchNotifications } from "../state/notices.mjs";
import { _ } from "../words/words.mjs";

const SYSTEM = "system"; // a list has no empty value
const OPTIONS = ["markdown-questions", "single-keys"];

// The server reads the language from the cookie, and without one takes what the browser wants.
const COOKIE = "waymark_language";
const MAX_AGE_SECONDS = 365 * 24 * 3600;

/** @returns {string} the tag of a language, or SYSTEM */
const readLanguage = () =>
  document.cookie.split("; ").find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1) || SYSTEM;

/** Keep a choice, and load the page in it. Unsent messages stay, as with any reload. @param {string} language */
function chooseLanguage(language) {
  const [tag, age] = language === SYSTEM ? ["", 0] : [language, MAX_AGE_SECONDS];
  document.cookie = `${COOKIE}=${tag}; path=${buildPath(null)}; samesite=strict; max-age=${age}`;
  location.reload();
}

/** Whether no default instructions are typed and not saved: they would be lost. Else the choice is taken back. */
function isSaved() {
  const field = /** @type {HTMLTextAreaElement|null} */ (document.querySelector("#app-settings-fields textarea"));
  if (field === null || field.value.trim() === getProperties("app-settings-seen")?.data) return true;
  setProperties({ "option-language": { value: readLanguage() } });
  refuseInDialog("app-settings-dialog", _("Save the default instructions first."));
  return false;
}

let isAllowed = true; // what the browser said last, since the dialog was opened

/** Show the options as the browser has them. */
export function showOptions() {
  isAllowed = true;
  return [readLanguage(), ...OPTIONS.map(readOption), readOption(NOTIFY)];
}

/**
 * Apply what was changed.
 * @param {string} language @param {...boolean} isOn
 * @returns {Promise<boolean>} false if the browser does not allow notifications
 */
export async function chooseOptions(language, ...isOn) {
  if (language !== readLanguage() && isSaved()) chooseLanguage(language);
  for (const [at, name] of OPTIONS.entries()) if (isOn[at] !== readOption(name)) storeOption(name, isOn[at]);
  const wantsNotices = isOn[OPTIONS.length];
  if (wantsNotices === readOption(NOTIFY)) return isAllowed;
  isAllowed = await switchNotifications(wantsNotices);
  if (!isAllowed) setProperties({ [`option-${NOTIFY}`]: { value: false } });
  return isAllowed;
}

const NEXT_THEME = { system: "light", light: "dark", dark: "system" };

/** Clientside callback: apply the next theme. theme.js reads and applies it. */
export function cycleTheme() {
  const choice = NEXT_THEME[String(document.documentElement.dataset.themeChoice)];
  keep("waymark.theme", choice);
  window.waymark.applyTheme(choice);
}
