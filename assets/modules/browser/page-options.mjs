/** Options of the page, kept in this browser. */
const { useSyncExternalStore } = window.React;

const ON_AT_FIRST = ["single-keys"];
const listeners = new Set();
const chosen = new Map(); // where the browser's storage is blocked

const getStorageKey = (name) => `waymark.${name}`;

/** @param {string} name @returns {boolean} */
export function readOption(name) {
  try {
    return (chosen.get(name) ?? localStorage.getItem(getStorageKey(name)) ?? readFirst(name)) === "on";
  } catch {
    return readFirst(name) === "on";
  }
}

const readFirst = (name) => (ON_AT_FIRST.includes(name) ? "on" : "off");

/** @param {string} name @param {boolean} isOn */
export function storeOption(name, isOn) {
  chosen.set(name, isOn ? "on" : "off");
  try {
    localStorage.setItem(getStorageKey(name), chosen.get(name));
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {string} name as “notify” @returns {[boolean, (isOn: boolean) => void]} most are off at first */
export function usePageOption(name) {
  return [useSyncExternalStore(subscribe, () => readOption(name)), (isOn) => storeOption(name, isOn)];
}
