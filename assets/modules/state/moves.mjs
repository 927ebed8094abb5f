/**
 * Moves of the conversation to another branch or place, until the page shows where they lead: a message that is sent after
 * the click is for that.
 */
import { createValue } from "../browser/value.mjs";

const MOVES = new Set(["switch", "choose", "visit", "undo", "redo"]);
const DIALOGS = new Set(["restore-dialog", "clear-dialog", "fork-dialog"]); // whose confirmation is a move

/** How many are under way, and how many led nowhere; the type of the last one, where the page has followed it. */
const moves = createValue({ open: 0, failed: 0, last: /** @type {string|null} */ (null) });

/** @param {string} list the id of the list @param {string} type of an action of it */
export const isMove = (list, type) => MOVES.has(type) || (type === "confirm" && DIALOGS.has(list));

export const beginMove = () => moves.set({ ...moves.get(), open: moves.get().open + 1, last: null });

/** @param {string} type of the action @param {boolean} hasFailed whether the conversation is where it was */
export function endMove(type, hasFailed) {
  const { open, failed } = moves.get();
  moves.set({ open: open - 1, failed: failed + Number(hasFailed), last: hasFailed ? null : type });
}

/** Return whether a move of this page is under way. */
export const isMoving = () => moves.get().open > 0;

export const useMoves = () => moves.use();
