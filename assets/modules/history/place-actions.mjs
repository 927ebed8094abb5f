/** The actions on a place: one list for the buttons of its card and for its keys. */
import { _ } from "../lib/words.mjs";

/**
 * @param {import("./layout.mjs").HistoryRow} row @param {import("./layout.mjs").HistoryRow[]} rows @param {Function} act
 * @param {(place: string) => void} onCompare @param {(place: string) => void} [onBring] @param {(place: string) => void} [onRunAgain]
 * @param {((place: string) => void)|null} [onState] null: the conversation has no graph with states
 * @returns {{restore: Function|null, fork: Function|null, compare: Function|null, bring: Function|null, again: Function|null, state: Function|null, switchTo: {name: string, run: Function}|null}}
 *   null: the action is not for this place
 */
export function listPlaceActions(row, rows, act, onCompare, onBring, onRunAgain, onState) {
  const { kind, item, message } = row;
  const own = kind === "checkpoint" && !item.isElsewhere ? item.value.id : null;
  const isHere = item?.isHere || (message !== null && message === rows.find((each) => each.item?.isHere)?.message);
  const place = own ? `checkpoint:${own}` : kind === "branch" ? `branch:${item.value.id}` : message && `message:${message}`;
  const branch = item?.isElsewhere ? findBranch(row, rows) : null;
  const chosen = kind === "alternative" ? { name: _("this alternative"), run: () => act("choose", { message }) } : null;
  return {
    restore: own && !isHere ? () => act("restore", { checkpoint: own }) : null,
    fork: own ? () => act("fork", { checkpoint: own }) : message ? () => act("fork", { message }) : null,
    compare: place && !isHere ? () => onCompare(place) : null,
    bring: kind === "branch" && !item.value.current ? () => onBring(place) : null,
    again: place ? () => onRunAgain(place) : null,
    state: place && onState ? () => onState(place) : null,
    switchTo: chosen ?? (branch && { name: branch.name, run: () => act("switch", { branch: branch.id }) }),
  };
}

/** Find the branch that a place is on: the one at the end of its lane. */
function findBranch(row, rows) {
  let last = row;
  while (last.down >= 0 && last.kind !== "branch") last = rows[last.down];
  return last.kind === "branch" ? last.item.value : null;
}
