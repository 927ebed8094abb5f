/** One conversation of the list: its link and its menu, the field that changes its title, or its checkbox. */
import { buildPath } from "../lib/addresses.mjs";
import { copyLink } from "../lib/copying.mjs";
import { findDirection } from "../lib/direction.mjs";
import { formatBriefAge, formatDateTime } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { Menu } from "../lib/menu.mjs";
import { NameField } from "../lib/name-field.mjs";
import { _ } from "../lib/words.mjs";
import { RowTags } from "./tags.mjs";

const { createElement: h, memo, useState } = window.React;

const MAX_TITLE_CHARS = 200;

/**
 * @typedef {{onOpen: (id: string) => void, onRename: (id: string|null) => void, onDelete: (id: string) => void,
 *   onPin: (thread: object) => void, onArchive: (thread: object) => void, onTags: (thread: object) => void,
 *   onTitle: (id: string, title: string) => void, onSelect: (thread: object, isRange?: boolean) => void}} RowActions
 * @param {{thread: import("../lib/types.mjs").ThreadItem, place: {index: number, style: object}, now: number,
 *   state: "running"|"waiting"|null, mode: "link"|"rename"|"select", isCurrent: boolean, isSelected: boolean,
 *   isAnyView: boolean, isReadOnly: boolean, names: import("./tags.mjs").TagNames, filterTag: string|null,
 *   actions: RowActions}} props
 */
function ThreadRow(props) {
  const { thread, place, mode, isCurrent, actions } = props;
  const { id, title } = thread;
  const row = (className, ...parts) =>
    h(
      "li",
      {
        className: `thread-row ${className}${isCurrent ? " thread-current" : ""}`, style: place.style,
        "data-index": place.index,
      },
      ...parts,
    );
  if (mode === "select") return row("thread-selecting", h(SelectLabel, props));
  if (mode === "link") return row("", h(ThreadLink, props), h(RowButtons, props));
  const onDone = (name) => {
    actions.onRename(null);
    if (name !== null) actions.onTitle(id, name);
  };
  return row(
    "thread-renaming",
    h(NameField, { label: _("Title of the conversation"), value: title, maxLength: MAX_TITLE_CHARS, onDone }),
  );
}

const isSame = (before, after) =>
  Object.keys(after).every(
    (name) => before[name] === after[name] || (name === "place" && before.place.index === after.place.index),
  );

export const Row = memo(ThreadRow, isSame);

function ThreadLink(props) {
  const { thread: { id }, isCurrent, isReadOnly, actions } = props;
  const rename = () => isReadOnly || actions.onRename(id);
  const onClick = (event) => {
    // Anything but a plain click belongs to the browser: a new tab, a new window, a download.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (!isCurrent && event.detail < 2) actions.onOpen(id); // the second click of a double click begins a rename
  };
  const onKeyDown = (event) => {
    if (event.key !== "F2") return;
    event.preventDefault();
    rename();
  };
  const hooks = { "data-testid": "thread", "data-thread-id": id, "aria-current": isCurrent ? "page" : undefined };
  return h(
    "a",
    {
      href: buildPath(id), className: "thread-link", ...hooks, onClick, onKeyDown,
      onDoubleClick: rename,
    },
    h(ThreadLine, props),
  );
}

function ThreadLine({ thread, now, state, isAnyView, names, filterTag }) {
  return [
    h("span", { key: "title", className: "thread-title", title: thread.title, dir: findDirection(thread.title) },
      thread.title),
    thread.owner &&
      h(
        "span",
        { key: "owner", className: "thread-mark", title: _("Shared by {name}", { name: thread.owner }), dir: "auto" },
        thread.owner,
      ),
    h(RowTags, { key: "tags", ids: thread.tags, names, filterTag }),
    isAnyView && thread.archived && h("span", { key: "archived", className: "thread-mark" }, _("archived")),
    h("span", { key: "meta", className: "thread-meta" }, h(ThreadState, { thread, now, state })),
  ];
}

function SelectLabel(props) {
  const { thread, isSelected, actions } = props;
  const onLabelClick = (event) => {
    if (!event.shiftKey || event.target.matches("input")) return; // the browser passes a plain click on to the checkbox
    event.preventDefault();
    actions.onSelect(thread, true);
  };
  const onClick = (event) => actions.onSelect(thread, event.shiftKey);
  return h(
    "label",
    { className: "thread-link", "data-testid": "thread", "data-thread-id": thread.id, onClick: onLabelClick },
    h("input", { type: "checkbox", className: "form-check-input", checked: isSelected, onChange: () => undefined, onClick }),
    h(ThreadLine, props),
  );
}

/** The state of a thread that is not at rest, or its age. */
function ThreadState({ thread, now, state }) {
  if (state === "running")
    return h("span", { className: "thread-running" }, h("span", { className: "running-dot" }), _("answering"));
  if (state === "waiting") return h("span", { className: "thread-waiting" }, _("waits for you"));
  return h("time", { dateTime: thread.updated, title: formatDateTime(thread.updated) }, formatBriefAge(thread.updated, now));
}

/** The menu, and the button for what is done most. */
function RowButtons({ thread, isReadOnly, actions }) {
  const [isOpen, setOpen] = useState(false);
  const { id, title, pinned, archived } = thread;
  const isOwn = !thread.owner;
  const isOrdered = isOwn && !isReadOnly; // the owner alone orders and deletes it
  const items = [
    !isReadOnly && [_("Rename"), () => actions.onRename(id)],
    isOrdered && [pinned ? _("Unpin") : _("Pin"), () => actions.onPin(thread)],
    isOrdered && [archived ? _("Unarchive") : _("Archive"), () => actions.onArchive(thread)],
    isOrdered && [_("Tags"), () => actions.onTags(thread)],
    [_("Copy link"), () => copyLink(id)],
    isOwn && [_("Select"), () => actions.onSelect(thread)],
  ].filter(Boolean);
  const menuName = _("More for {title}", { title });
  return h(
    "span",
    { className: "row-buttons" },
    h(
      "span",
      { className: "more" },
      h(RowButton, {
        label: menuName, sign: "three-dots", onClick: () => setOpen(true), "aria-haspopup": "menu", "aria-expanded": isOpen,
      }),
      isOpen && h(Menu, { name: menuName, items, onClose: () => setOpen(false) }),
    ),
    isOrdered &&
      h(RowButton, {
        label: _("Delete {title}", { title }), sign: "trash3", onClick: () => actions.onDelete(id), "data-testid": "delete",
      }),
  );
}

function RowButton({ label, sign, ...rest }) {
  return h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, ...rest }, icon(sign));
}
