/** The buttons of a place's card: three at most, and a menu with the others. */
import { button, iconButton } from "../controls/buttons.mjs";
import { copyLink } from "../controls/copying.mjs";
import { MoreButton } from "../controls/menu.mjs";
import { shareCheckpoint } from "../dialogs/sharing.mjs";
import { closeSheets } from "../page/panes.mjs";
import { _ } from "../words/words.mjs";
import { nameBranch } from "./history-row.mjs";
import { isRemovedCheckpoint } from "./place-actions.mjs";

const { createElement: h } = window.React;

const MAX_BUTTONS = 3;

/**
 * @typedef {{text: string, name: string, testId?: string, run: Function, isMain?: boolean}} PlaceButton  `name`: in full,
 *   for those who only hear it
 * @param {{row: import("./layout.mjs").HistoryRow, name: string, data: import("../state/types.mjs").HistoryData,
 *   act: Function, actions: import("./place-actions.mjs").PlaceActions, onShow: (row: object) => void,
 *   onRename: (kind: "checkpoint"|"branch") => void}} props
 */
export function PlaceButtons({ row, name, data, act, actions, onShow, onRename }) {
  const changes = listChanges(row, name, act, actions);
  const offered = [...(data.read_only ? [] : changes), ...listReadings(row, name, actions, onShow)];
  const shown = row.kind === "removed" ? 2 : MAX_BUTTONS; // "Keep as branch" takes the room of two
  const others = offered.slice(shown).map(({ text, run, testId }) => [text, run, testId]);
  const items = [...others, ...listBeginnings(actions), ...listChangesOfPlace(row, data, act, onRename)];
  const more = { name: _("More for {title}", { title: name }), title: _("More"), className: "card-more", list: () => items };
  return h(
    "div",
    { className: "card-buttons" },
    offered.slice(0, shown).map(makeButton),
    items.length > 0 && h(MoreButton, more),
  );
}

/** A double click on it is one request. @param {PlaceButton} action */
const makeButton = ({ text, name, testId, run, isMain }) =>
  button(`btn ${isMain ? "btn-primary" : "btn-secondary"}`, text, ({ detail }) => detail < 2 && run(), {
    key: text, "data-testid": testId, "aria-label": name,
  });

/** List what changes the conversation. @returns {PlaceButton[]} */
function listChanges({ kind, item }, name, act, { restore, fork, switchTo }) {
  const isUndoable = kind === "removed" && item.value.undoable;
  const switching = switchTo && _("Switch to {name}", { name: switchTo.name });
  const undo = () => (closeSheets(), act("undo"));
  const keep = () => act("keep-removed");
  return [
    restore && {
      text: _("Restore"), name: _("Restore {name}", { name }), testId: "restore", run: restore, isMain: !switchTo,
    },
    switchTo && { text: _("Switch"), name: switching, testId: "switch", run: switchTo.run, isMain: true },
    isUndoable && { text: _("Undo"), name: _("Undo the restore"), run: undo, isMain: true },
    isUndoable && { text: _("Keep as branch"), name: _("Keep the removed messages as a branch"), run: keep },
    fork && { text: _("Branch"), name: _("Branch from {name}", { name }), testId: "fork", run: fork },
  ].filter(Boolean);
}

/** List what only reads. @returns {PlaceButton[]} */
function listReadings(row, name, { compare }, onShow) {
  const isBranch = row.kind === "branch";
  const compareName = isBranch
    ? _("Compare branch {name} with the current position", { name })
    : _("Compare {name} with the current position", { name });
  return [
    compare && { text: _("Compare"), name: compareName, testId: "compare", run: compare },
    { text: _("Show"), name: _("Show {name}", { name }), testId: "show", run: () => onShow(row) },
  ].filter(Boolean);
}

/** List the menu's items that open a dialog. */
const listBeginnings = ({ state, bring, again }) =>
  [
    state && [_("State"), state, "state"],
    bring && [_("Quote in this branch"), bring, "bring"],
    again && [_("Run again"), again, "run-again"],
  ].filter(Boolean);

/** List the menu's items that are about the place itself: its checkpoint, and the branch that ends there. */
function listChangesOfPlace(row, data, act, onRename) {
  const { kind, item, branch } = row;
  if (kind !== "checkpoint") return branch ? listChangesOfBranch(branch, data, act, onRename) : [];
  const { id, name, pinned } = item.value;
  const link = [_("Copy link"), () => copyLink(data.thread, { checkpoint: id }), "copy-link"];
  const ofBranch = branch ? listChangesOfBranch(branch, data, act, onRename, true) : [];
  if (data.read_only || isRemovedCheckpoint(row, data)) return [link, ...ofBranch];
  return [
    link,
    ...(data.owner ? [] : [[_("Share"), () => shareCheckpoint({ id, name }), "share"]]),
    [pinned ? _("Unpin") : _("Pin"), () => act("change", { checkpoint: id, pinned: !pinned }), "pin"],
    [_("Rename"), () => onRename(kind), "rename"],
    ...ofBranch,
  ];
}

/** List what changes a branch. With `isNamed`, each item says that it is about the branch. */
function listChangesOfBranch({ id, current }, data, act, onRename, isNamed = false) {
  const copy = () => copyLink(data.thread, { branch: id });
  const link = isNamed ? [_("Copy link to the branch"), copy, "copy-branch-link"] : [_("Copy link"), copy, "copy-link"];
  if (data.branch_count < 2 || data.read_only) return [link];
  const onName = () => onRename("branch");
  const rename = isNamed ? [_("Rename the branch"), onName, "rename-branch"] : [_("Rename"), onName, "rename"];
  const prune = [isNamed ? _("Delete all other branches") : _("Delete all others"), () => act("prune"), "prune"];
  if (current) return [link, rename, prune];
  const remove = [_("Delete the branch"), () => act("delete-branch", { branch: id }), "delete-branch"];
  return isNamed ? [link, rename, remove] : [link, rename]; // the button in the corner deletes what it is about
}

/**
 * @param {{row: import("./layout.mjs").HistoryRow, name: string, data: import("../state/types.mjs").HistoryData,
 *   act: Function}} props
 */
export function DeleteButton({ row, name, data, act }) {
  if (data.read_only) return null;
  const { kind, item, branch } = row;
  const isCheckpoint = item !== null && kind === "checkpoint" && !isRemovedCheckpoint(row, data);
  const isOtherBranch = branch && data.branch_count > 1 && !branch.current;
  if (!isCheckpoint && !isOtherBranch) return null;
  const label = isCheckpoint
    ? _("Delete {name}", { name })
    : _("Delete branch {name}", { name: branch && nameBranch(branch) });
  const remove = () =>
    isCheckpoint ? act("delete", { checkpoint: item.value.id }) : act("delete-branch", { branch: branch?.id });
  // The second click of a double one on the form that was here is none.
  const onClick = ({ detail }) => detail < 2 && remove();
  return iconButton("trash3", label, onClick, { className: "delete-button", "data-testid": "delete" });
}
