/**
 * Moves of the conversation to another branch or place, until the page shows where they lead: a message that is sent after
 * the click is for that.
 */
const { useSyncExternalStore } = window.React;

const MOVES = new Set(["switch", "choose", "visit", "undo", "redo"]);
const DIALOGS = new Set(["restore-dialog", "clear-dialog", "fork-dialog"]); // whose confirmation is a move

/**
 * How many are under way, and how many led nowhere; the type of the last one, where the page has followed it.
 * @type {{open: number, failed: number, last: string|null}}
 */
let moves = { open: 0, failed: 0, last: null };
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function set(next) {
  moves = next;
  for (const listener of listeners) listener();
}

/** @param {string} list the id of the list @param {string} type of an action of it */
export const isMove = (list, type) => MOVES.has(type) || (type === "confirm" && DIALOGS.has(list));

export const beginMove = () => set({ ...moves, open: moves.open + 1, last: null });

/** @param {string} type of the action @param {boolean} hasFailed whether the conversation is where it was */
export const endMove = (type, hasFailed) =>
  set({ open: moves.open - 1, failed: moves.failed + Number(hasFailed), last: hasFailed ? null : type });

/** Return whether a move of this page is under way. */
export const isMoving = () => moves.open > 0;

export const useMoves = () => useSyncExternalStore(subscribe, () => moves);
