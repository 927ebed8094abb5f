/**
 * The tags of conversations: their names, as rows show them, the filter above the list, and the ways to their dialogs
 * (components/panels/tags.py).
 */
import { setProperties } from "../browser/properties.mjs";
import { button } from "../controls/buttons.mjs";
import { icon } from "../controls/icons.mjs";
import { findPressed, openDialogAbout } from "../page/callbacks.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, useRef } = window.React;

const ONLY_OWNER = _("Only the owner of this conversation can do this.");

/** Filters the list by a tag. @type {(tag: string) => void} */
let filterBy = () => undefined;

/**
 * @typedef {Map<string, string>} TagNames  by id
 * @param {import("../state/types.mjs").ThreadsData|undefined} data
 * @returns {TagNames} the same one until a name changes, so that rows are not rendered again
 */
export function useTagNames(data) {
  const known = useRef({ key: "[]", names: new Map() });
  const key = JSON.stringify(data?.tags ?? []);
  if (known.current.key !== key) known.current = { key, names: new Map(data?.tags.map(({ id, name }) => [id, name])) };
  return known.current.names;
}

/**
 * The first tag of a row, and the number of the others; not the tag of the filter, which all rows have and the chip names.
 * @param {{ids: string[]|undefined, names: TagNames, filterTag: string|null}} props
 */
export function RowTags({ ids, names, filterTag }) {
  const shown = (ids ?? []).filter((id) => id !== filterTag).flatMap((id) => names.get(id) ?? []); // not removed ones
  const [first, ...others] = shown;
  if (first === undefined) return null;
  const all = shown.join(", ");
  return h(
    "span",
    { className: "thread-tags", title: all },
    h("span", { className: "visually-hidden" }, _("tagged {tags}", { tags: all })),
    h("span", { className: "thread-tag", dir: "auto", "aria-hidden": true }, first),
    others.length > 0 && h("span", { "aria-hidden": true }, `+${others.length}`),
  );
}

/** The tag by which the list is filtered. @param {{name: string, onClear: () => void}} props */
export function TagFilter({ name, onClear }) {
  return h(
    "div",
    { className: "tag-filter", role: "group", "aria-label": _("Filter") },
    button("tag-chip", h(Fragment, null, h("span", { dir: "auto" }, name), icon("x-lg")), onClear, {
      "aria-label": _("Tag {name}: show all conversations", { name }),
    }),
  );
}

/** @param {string} name @returns {string} the filter of the search */
export const writeFilter = (name) => `tag:"${name}"`;

/**
 * Ask for the tags of one or several conversations.
 * @param {string[]} ids of conversations
 * @param {import("../state/types.mjs").ThreadItem[]} known those whose titles are known
 */
export function openTagChoice(ids, known) {
  const only = ids.length === 1 ? known.find(({ id }) => id === ids[0]) : undefined;
  const title = only ? _("Tags of “{title}”", { title: only.title }) : _("Tags of {ids} conversations", { ids: ids.length });
  setProperties({ "tag-choice-title": { children: title } });
  openDialogAbout({ threads: ids }, "tag-choice", "tag-known");
}

/** Show all tags. @param {(tag: string) => void} onShow filters the list */
export function openTags(onShow) {
  filterBy = onShow;
  openDialogAbout(null, "tags-dialog");
}

/** Clientside callback: filter the list by the tag whose button was pressed, and close the dialog. */
export function showTag() {
  const pressed = findPressed();
  if (pressed === null) return window.dash_clientside.no_update;
  filterBy(pressed.row);
  return false;
}

/**
 * List the commands about tags.
 * @param {{current: import("../state/types.mjs").ThreadItem|null, isReader?: boolean, names: TagNames,
 *   act: import("../state/types.mjs").Act, onShow: (tag: string) => void}} parts
 * @returns {import("../state/types.mjs").Command[]}
 */
export function listTagCommands({ current, isReader = false, names, act, onShow }) {
  const missing = names.size > 0 ? null : _("There are no tags yet. /tag adds one.");
  const choices = () => Array.from(names, ([id, name]) => ({ name, run: () => onShow(id) }));
  return [
    {
      group: _("Actions"), name: _("Tag this conversation"), word: "tag", hint: _("name"),
      offReason: current ? (isReader || current.owner ? ONLY_OWNER : null) : _("There is no conversation yet."),
      run: (name) => {
        if (!current) return;
        if (name) act("tag", { threads: [current.id], add: [name], remove: [] });
        else openTagChoice([current.id], [current]);
      },
    },
    { group: _("Actions"), name: _("Show conversations with a tag"), word: "tagged", offReason: missing, choices },
    ...(isReader ? [] : [{
      group: _("Actions"), name: _("Tags: rename, remove"), word: "tags", offReason: missing,
      run: () => openTags(onShow),
    }]),
  ];
}
