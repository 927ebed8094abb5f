/** The buttons of a place's card: three at most, and a menu with the others. */
import { copyLink } from "../controls/copying.mjs";
import { icon } from "../controls/icons.mjs";
import { Menu } from "../controls/menu.mjs";
import { shareCheckpoint } from "../dialogs/sharing.mjs";
import { closeSheets } from "../page/panes.mjs";
import { _ } from "../words/words.mjs";
import { isRemovedCheckpoint } from "./place-actions.mjs";

const { createElement: h, useState } = window.React;

const MAX_BUTTONS = 3;

/**
 * @typedef {{text: string, name: string, testId?: string, run: Function, isMain?: boolean}} PlaceButton  `name`: in full,
 *   for those who only hear it
 * @param {{row: import("./layout.mjs").HistoryRow, name: string, data: import("../state/types.mjs").HistoryData,
 *   act: Function, actions: import("./place-actions.mjs").PlaceActions, onShow: (row: object) => void,
 *   onRename: (kind: "checkpoint"|"branch") => void}} props
 */
export function PlaceButtons({ row, name, data, act, actions, onShow, onRename }) {
  const [isOpen, setOpen] = useState(false);
  const changes = listChanges(row, name, act, actions);
  const offered = [...(data.read_only ? [] : changes), ...listReadings(row, name, actions, onShow)];
  const shown = row.kind === "removed" ? 2 : MAX_BUTTONS; // "Keep as branch" takes the room of two
  const others = offered.slice(shown).map(({ text, run, testId }) => [text, run, testId]);
  const items = [...others, ...listBeginnings(actions), ...listChangesOfPlace(row, data, act, onRename)];
  const more = _("More for {title}", { title: name });
  const moreButton = {
    type: "button",
    className: "icon-button card-more",
    "aria-label": more,
    title: _("More"),
    "aria-haspopup": "menu",
    "aria-expanded": isOpen,
  };
  return h(
    "div",
    { className: "card-buttons" },
    offered.slice(0, shown).map(makeButton),
    items.length > 0 &&
      h(
        "span",
        { className: "more" },
        h("button", { ...moreButton, onClick: ({ detail }) => detail < 2 && setOpen(true) }, icon("three-dots")),
        isOpen && h(Menu, { name: more, items, onClose: () => setOpen(false) }),
      ),
  );
}

/** @param {PlaceButton} button */
const makeButton = ({ text, name, testId, run, isMain }) =>
  h(
    "button",
    {
      key: text, type: "button", className: `btn ${isMain ? "btn-primary" : "btn-secondary"}`, "data-testid": testId,
      "aria-label": name, onClick: (event) => event.detail < 2 && run(),
    },
    text,
  ); // a double click is one request

/** List what changes the conversation. @returns {PlaceButton[]} */
function listChanges({ kind, item }, name, act, { restore, fork, switchTo }) {
  const isUndoable = kind === "removed" && item.value.undoable;
  return [
    restore && {
      text: _("Restore"),
      name: _("Restore {name}", { name }),
      testId: "restore",
      run: restore,
      isMain: !switchTo,
    },
    switchTo && {
      text: _("Switch"),
      name: _("Switch to {name}", { name: switchTo.name }),
      testId: "switch",
      run: switchTo.run,
      isMain: true,
    },
    isUndoable && { text: _("Undo"), name: _("Undo the restore"), run: () => (closeSheets(), act("undo")), isMain: true },
    isUndoable && {
      text: _("Keep as branch"),
      name: _("Keep the removed messages as a branch"),
      run: () => act("keep-removed"),
    },
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
  const link = [
    isNamed ? _("Copy link to the branch") : _("Copy link"),
    () => copyLink(data.thread, { branch: id }),
    isNamed ? "copy-branch-link" : "copy-link",
  ];
  if (data.branch_count < 2 || data.read_only) return [link];
  const rename = [
    isNamed ? _("Rename the branch") : _("Rename"),
    () => onRename("branch"),
    isNamed ? "rename-branch" : "rename",
  ];
  // the button in the corner deletes the checkpoint
  const others = isNamed ? [[_("Delete the branch"), () => act("delete-branch", { branch: id }), "delete-branch"]] : [];
  const prune = [isNamed ? _("Delete all other branches") : _("Delete all others"), () => act("prune"), "prune"];
  return current ? [link, rename, prune] : [link, rename, ...others];
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
  const label = isCheckpoint ? _("Delete {name}", { name }) : _("Delete branch {name}", { name: branch?.name });
  const onClick = ({ detail }) =>
    // the second click of a double one on the form that was here is none
    detail < 2 &&
    (isCheckpoint ? act("delete", { checkpoint: item.value.id }) : act("delete-branch", { branch: branch?.id }));
  return h(
    "button",
    {
      type: "button", className: "icon-button delete-button", "data-testid": "delete", "aria-label": label, title: label,
      onClick,
    },
    icon("trash3"),
  );
}
