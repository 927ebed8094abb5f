/** The card of the selected place: its description and figures, and what can be done there. */
import { AUTHORS } from "../lib/authors.mjs";
import { useNow } from "../lib/clock.mjs";
import { formatAge, formatCount, formatDateTime, formatNumber } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { NameField } from "../lib/name-field.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";
import { fetchWholeText, ShowAll } from "../message/show-all.mjs";
import { showShare } from "../page/sharing.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";
import { describeBranch, nameRow } from "./history-row.mjs";
import { listPlaceActions } from "./place-actions.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const PlaceUsage = lazy(() => import("./place-usage.lazy.mjs"), "PlaceUsage");

const MAX_BRANCH_NAME_CHARS = 120;

/**
 * @param {{row: import("./layout.mjs").HistoryRow, rows: object[], data: import("../lib/types.mjs").HistoryData, act: Function,
 *   onShow: (row: object) => void, onCompare: (place: string) => void, onBring: (place: string) => void,
 *   onRunAgain: (place: string) => void, onState: ((place: string) => void)|null, onClose: () => void}} props
 */
export function PlaceCard({ row, rows, data, act, onShow, onCompare, onBring, onRunAgain, onState, onClose }) {
  const card = useRef(null);
  const renaming = useRenaming(row, card, act);
  const name = nameRow(row, data.branch_count > 1);
  if (renaming.form) return h("div", { className: "place-card", ref: card }, renaming.form);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onClose();
  };
  return h(
    "div",
    { className: "place-card", ref: card, role: "group", "aria-label": name, onKeyDown },
    h(
      "div",
      { className: "card-head" },
      h("h3", null, name),
      row.item?.isHere && h("span", { className: "here-label" }, _("you are here")),
      h("button", { type: "button", className: "icon-button", "aria-label": _("Close this place"), title: _("Close"), onClick: onClose }, icon("x-lg")),
    ),
    h(Description, { row }),
    h(Figures, { row }),
    row.kind === "checkpoint" && !row.item.isElsewhere && h(PlaceUsage, { thread: data.thread, place: `checkpoint:${row.item.value.id}` }),
    h(Buttons, { row, name, data, act, onShow, actions: listPlaceActions(row, rows, act, onCompare, onBring, onRunAgain, onState), onRename: renaming.start }),
  );
}

/** The form for another name. Afterwards its button gets the focus, which the form took with it. */
function useRenaming({ key, kind, item }, card, act) {
  const [renamed, setRenamed] = useState(null); // with the whole description
  useEffect(() => setRenamed(null), [key]);
  const value = item?.value;
  const close = () => {
    setRenamed(null);
    requestAnimationFrame(() => card.current?.querySelector(".rename")?.focus());
  };
  const start = async () => {
    const description = kind === "checkpoint" ? await fetchWholeText({ text: value.description, more: value.more }) : "";
    if (description === null) showToast(_("The description cannot be read right now."));
    else setRenamed({ name: value.name, description });
  };
  const saveCheckpoint = (name, description) => {
    if (name !== renamed.name || description !== renamed.description) act("change", { checkpoint: value.id, name, description });
    close();
  };
  const saveBranch = (name) => {
    if (name !== null) act("rename-branch", { branch: value.id, name });
    close();
  };
  if (renamed === null) return { start, form: null };
  if (kind === "checkpoint") return { start, form: h(CheckpointForm, { title: _("Rename checkpoint"), checkpoint: renamed, onSave: saveCheckpoint, onCancel: close }) };
  return { start, form: h(NameField, { label: _("Name of the branch"), value: renamed.name, maxLength: MAX_BRANCH_NAME_CHARS, onDone: saveBranch }) };
}

function Description({ row: { kind, item } }) {
  const value = item?.value;
  if (kind === "removed") return h("p", { className: "card-text" }, _("The last restore removed these messages. They stay here until the next message."));
  if (kind !== "checkpoint" || !value.description) return null;
  return h("div", { className: "card-description", tabIndex: 0, role: "region", "aria-label": _("About this checkpoint") }, h("p", { className: "card-text" }, value.description), h(ShowAll, { more: value.more }));
}

function Figures({ row: { kind, item, messages } }) {
  const now = useNow();
  const value = item?.value;
  const figures = [kind === "branch" ? describeBranch(value) : messages > 0 && formatCount(messages, "message")];
  if (value?.tokens) figures.push(formatCount(value.tokens, "token"));
  if (kind === "move" && value.before !== null && value.after !== null) figures.push(_("{messages}: {before} → {after} tokens", { messages: formatCount(value.removed, "message"), before: formatNumber(value.before), after: formatNumber(value.after) }));
  const author = kind === "checkpoint" ? AUTHORS[value.created_by] : null;
  return h(
    "p",
    { className: "card-figures" },
    figures.filter(Boolean).map((figure) => h("span", { key: figure }, figure)),
    value?.time && h("time", { dateTime: value.time, title: formatDateTime(value.time) }, formatAge(value.time, now)),
    author && h("span", { title: _("Saved by {name}", { name: author.name }) }, value.created_by === "user" ? _("by you") : _("by {name}", { name: author.name })),
  );
}

/** The actions of a place: first those that change the conversation, then those that change the place. */
function Buttons({ row, name, data, act, onShow, actions, onRename }) {
  const { kind, item } = row;
  const makeButton = (text, testId, onClick, label, className = "btn btn-secondary") =>
    onClick && h("button", { type: "button", className, "data-testid": testId, "aria-label": label, onClick: (event) => event.detail < 2 && onClick() }, text); // a double click is one request
  const { restore, fork, compare, bring, again, state, switchTo } = actions;
  return h(
    "div",
    { className: "card-buttons" },
    makeButton(_("Restore"), "restore", restore, _("Restore {name}", { name }), "btn btn-primary"),
    switchTo && makeButton(_("Switch"), "switch", switchTo.run, _("Switch to {name}", { name: switchTo.name }), "btn btn-primary"),
    kind === "removed" && item.value.undoable && makeButton(_("Undo"), undefined, () => act("undo"), _("Undo the restore"), "btn btn-primary"),
    kind === "removed" && item.value.undoable && makeButton(_("Keep as branch"), undefined, () => act("keep-removed"), _("Keep the removed messages as a branch")),
    makeButton(_("Show"), "show", () => onShow(row), _("Show {name}", { name })),
    makeButton(_("Branch"), "fork", fork, _("Branch from {name}", { name })),
    makeButton(_("Compare"), "compare", compare, kind === "branch" ? _("Compare branch {name} with the current position", { name }) : _("Compare {name} with the current position", { name })),
    makeButton(_("State"), "state", state, _("State of the graph at {name}", { name })),
    makeButton(_("Bring home"), "bring", bring, _("Bring a note from {name} home", { name })),
    makeButton(_("Run again"), "run-again", again, _("Run the questions of {name} again", { name })),
    h(Tools, { row, name, data, act, onRename }),
  );
}

/** The actions that change the place itself. */
function Tools({ row: { kind, item }, name, data, act, onRename }) {
  const tool = (label, sign, onClick, more = {}) => h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, onClick, ...more }, icon(sign));
  const rename = (label) => tool(label, "pencil", onRename, { className: "icon-button rename" });
  if (kind === "checkpoint" && !item.isElsewhere) {
    const { id, pinned } = item.value;
    const checkpoint = { id, name: item.value.name };
    return h(
      "span",
      { className: "card-tools" },
      tool(pinned ? _("Unpin {name}", { name }) : _("Pin {name}", { name }), pinned ? "pin-angle-fill" : "pin-angle", () => act("change", { checkpoint: id, pinned: !pinned })),
      tool(_("Share {name}", { name }), "share", () => showShare(data.thread, checkpoint), { "data-testid": "share" }),
      rename(_("Rename {name}", { name })),
      tool(_("Delete {name}", { name }), "trash3", () => act("delete", { checkpoint: id }), { "data-testid": "delete" }),
    );
  }
  if (kind !== "branch" || data.branch_count < 2) return null;
  const { id, current } = item.value;
  return h(
    "span",
    { className: "card-tools" },
    rename(_("Rename branch {name}", { name })),
    current
      ? h("button", { type: "button", className: "text-button", onClick: () => act("prune") }, _("Delete all others"))
      : tool(_("Delete branch {name}", { name }), "trash3", () => act("delete-branch", { branch: id }), { "data-testid": "delete" }),
  );
}
