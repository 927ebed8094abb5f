/** The actions on a place: one list for the buttons of its card and for its keys. */
import { comparePlace, quotePlace, runAgain, showState } from "../dialogs/places.mjs";
import { closeSheets } from "../page/panes.mjs";
import { _ } from "../words/words.mjs";
import { nameBranch } from "./history-row.mjs";

export const REMOVED = _("The last restore removed this. Undo brings it back.");
export const AT_PLACE = _("The conversation is at this place already.");
const NO_CHANGES = { restore: null, fork: null, bring: null, again: null, switchTo: null };

/**
 * @typedef {{restore: Function|null, fork: Function|null, compare: Function|null, bring: Function|null,
 *   again: Function|null, state: Function|null, switchTo: {name: string, run: Function}|null}} PlaceActions  null: the
 *   action is not for this place
 *
 * @param {import("./layout.mjs").HistoryRow} row
 * @param {import("./layout.mjs").HistoryRow[]} rows
 * @param {import("../state/types.mjs").HistoryData} data @param {Function} act
 * @returns {PlaceActions}
 */
export function listPlaceActions(row, rows, { has_states: hasStates, read_only: isReadOnly }, act) {
  const { item, branch, message } = row;
  const own = item && isOwn(row) ? item.value.id : null;
  const isHere = isCurrentPlace(row, rows);
  const place = own ? `checkpoint:${own}` : branch ? `branch:${branch.id}` : message && `message:${message}`;
  const target = isHere ? null : findRestoreTarget(row);
  const readings = {
    compare: place && !isHere ? () => comparePlace(place) : null,
    state: place && hasStates ? () => showState(place) : null,
  };
  if (isReadOnly) return { ...NO_CHANGES, ...readings };
  return {
    ...readings,
    restore: target && (() => act("restore", target)),
    fork: own ? () => act("fork", { checkpoint: own }) : message ? () => act("fork", { message }) : null,
    bring: place && branch && !branch.current ? () => quotePlace(place) : null,
    again: place ? () => runAgain(place) : null,
    switchTo: findSwitch(row, rows, act),
  };
}

const isOwn = ({ kind, item }) => kind === "checkpoint" && !item.isElsewhere;

/**
 * Return whether the last restore removed a checkpoint, and no branch has it.
 * @param {import("./layout.mjs").HistoryRow} row @param {import("../state/types.mjs").HistoryData} data
 */
export const isRemovedCheckpoint = ({ kind, item, line }, data) =>
  item !== null && kind === "checkpoint" && item.isElsewhere && line === "removed" &&
  !data.elsewhere.some(({ id }) => id === item.value.id);

/** Return whether the conversation stands at a place already. */
function isCurrentPlace({ kind, item, line, message, messages }, rows) {
  if (isOwn({ kind, item })) return item.value.stands;
  if (item?.isHere) return true;
  const here = rows.find((each) => each.item?.isHere);
  return line === "current" && here !== undefined && here.message === message && here.messages === messages;
}

/** Name what a restore to a place on the current path goes back to; null for places elsewhere. */
function findRestoreTarget(row) {
  if (isOwn(row)) return { checkpoint: row.item.value.id };
  if (row.line !== "current") return null;
  return row.message === null ? { kind: "beginning" } : { message: row.message };
}

function findSwitch(row, rows, act) {
  if (row.kind === "alternative") return { name: _("this alternative"),
    run: () => (closeSheets(), act("choose", { message: row.message })) };
  const ownBranch = row.branch && !row.branch.current ? row.branch : null; // also on the current path
  const isOfPath = row.line === "current" || row.line === "replaced";
  const branch = ownBranch ?? (isOfPath || isOwn(row) ? null : findBranch(row, rows));
  return branch && { name: nameBranch(branch), run: () => act("switch", { branch: branch.id }) };
}

/** Say why a place cannot be restored. */
export function explainNoRestore(row, rows) {
  if (isCurrentPlace(row, rows)) return AT_PLACE;
  if (row.line === "removed") return REMOVED;
  if (row.line === "replaced") return _("A summary replaced this. Branch from it, with b.");
  const branch = findBranch(row, rows);
  return branch
    ? _("This place is on the branch “{name}”. Switch to it first, with s.", { name: nameBranch(branch) })
    : _("This place is not on the current branch. Branch from it, with b.");
}

/** Find the branch that a place is on: the one at the end of its lane. */
function findBranch(row, rows) {
  let last = row;
  while (last.down >= 0 && last.branch === null) last = rows[last.down];
  return last.branch;
}
