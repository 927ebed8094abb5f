/** The data of the chosen conversation, for the field: it belongs to that from the click on, before its data has come. */
import { useChosenThread } from "../lib/chosen-thread.mjs";
import { useMoves } from "../lib/moves.mjs";

const { useMemo } = window.React;

/** Of a field before its first data. */
const NOTHING = /** @type {import("../lib/types.mjs").ComposerData} */ ({});
const NOT_READ = { version: undefined, running: false, asking: false, rest: null, fill: null, read_only: null };

/**
 * @typedef {{isComing: boolean, isLost: boolean, visit: number, moves: {open: number, failed: number}}} Coming  `isComing`:
 *   the data is not here; `isLost`: it could not be read; `visit` counts the choices of conversations; `moves` to other
 *   branches or places
 * @param {import("../lib/types.mjs").ComposerData|undefined} shown
 * @returns {{data: import("../lib/types.mjs").ComposerData, coming: Coming}} `data` keeps the model and the meter of the
 *   conversation that is still shown, so that nothing flickers
 */
export function useChosenData(shown = NOTHING) {
  const { thread, isShown, isLost, visit } = useChosenThread();
  const isComing = !isShown && shown.opened !== thread;
  const data = useMemo(() => (isComing ? { ...shown, ...NOT_READ, thread } : shown), [shown, isComing, thread]);
  return { data, coming: { isComing, isLost: isComing && isLost, visit, moves: useMoves() } };
}
