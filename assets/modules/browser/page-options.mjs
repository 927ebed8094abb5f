/** Options of the page, kept in this browser. */
import { keep, readKept } from "./storage.mjs";
import { createValue } from "./value.mjs";

const ON_AT_FIRST = ["single-keys"];
/** Those chosen on this page. */
const chosen = createValue(/** @type {Record<string, boolean>} */ ({}));

const getStorageKey = (name) => `waymark.${name}`;

/** @param {string} name @returns {boolean} */
export function readOption(name) {
  const kept = readKept(getStorageKey(name));
  return chosen.get()[name] ?? (kept === null ? ON_AT_FIRST.includes(name) : kept === "on");
}

/** @param {string} name @param {boolean} isOn */
export function storeOption(name, isOn) {
  keep(getStorageKey(name), isOn ? "on" : "off");
  chosen.set({ ...chosen.get(), [name]: isOn });
}

/** @param {string} name as “notify” @returns {boolean} */
export const usePageOption = (name) => chosen.use(() => readOption(name));
