/** The branch that the page shows. History knows it, and the bar names it. */
const { useSyncExternalStore } = window.React;

/** @typedef {{name: string, messages: number}} ShownBranch */

/** @type {ShownBranch|null} */
let shownBranch = null;
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {ShownBranch|null} branch */
export function setShownBranch(branch) {
  shownBranch = branch;
  for (const listener of listeners) listener();
}

/** @returns {ShownBranch|null} */
export const useShownBranch = () => useSyncExternalStore(subscribe, () => shownBranch);
