/** The list of conversations. */
import { buildPath } from "../browser/addresses.mjs";
import { nameKeys, useCommands } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { useFirstRun } from "../controls/tips.mjs";
import { openDialogAbout } from "../page/callbacks.mjs";
import { PaneHead, closeSheets } from "../page/panes.mjs";
import { useActions } from "../state/actions.mjs";
import { useChosenThread, expectThread } from "../state/chosen-thread.mjs";
import { goTo } from "../state/panels.mjs";
import { showMessage } from "../state/show-message.mjs";
import { useNow } from "../words/clock.mjs";
import { formatAge, nameAgeGroup } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { ExportSeveral } from "./export-several.mjs";
import { Found } from "./found.mjs";
import { useOtherRuns, Row } from "./row.mjs";
import { useRenamed, SelectionBar, useSelection } from "./selection.mjs";
import { TagFilter, listTagCommands, openTagChoice, openTags, useTagNames, writeFilter } from "./tags.mjs";
import { useFilteredThreads, useListedThreads, VirtualList } from "./virtual-list.mjs";

const { Fragment, createElement: h, useMemo, useRef, useState } = window.React;

const NEW_KEYS = "Control+Shift+O Meta+Shift+O";
const NEW_TITLE = _("New conversation ({keys})", { keys: nameKeys(NEW_KEYS).join("+") });
const EMPTY_TEXTS = {
  listed: _("Your conversations will appear here."),
  reader: _("Conversations shared with you appear here."),
  archived: _("No archived conversations."),
};

const SelectButton = ({ onClick }) => h("button", { type: "button", className: "text-button", onClick }, _("Select"));

function NewButton({ onClick }) {
  return h(
    "button",
    { type: "button", className: "new-thread", "aria-keyshortcuts": NEW_KEYS, title: NEW_TITLE, onClick },
    icon("plus-lg"),
    h("span", null, _("New conversation")),
  );
}

/** @param {{id: string, data?: import("../state/types.mjs").ThreadsData, setProps: Function}} props */
export function Threads(props) {
  const { data } = props;
  const act = useActions(props);
  const [text, setText] = useState("");
  const [view, setView] = useState("listed");
  const [tag, setTag] = useState(null);
  const names = useTagNames(data);
  const shown = useShownThreads(data, view, text, names.get(tag));
  const selection = useSelection(shown.threads, shown.query, shown.query.view === "listed" ? data : undefined);
  const open = (thread) => {
    expectThread(null); // the one that a message just began may have no data yet
    if (thread === null) goTo(buildPath(null));
    else showMessage(thread, null);
    closeSheets({ restoreFocus: false });
  };
  const now = useNow();
  useOtherRuns(data, shown.listed);
  useFirstRun(data?.threads);
  const showTag = (id) => (setTag(id), setView("listed"));
  useCommands("threads", () => [...listThreadCommands(shown.listed, data?.current, now, open),
    ...listTagCommands({ current: findOpen(data, shown.listed), isReader: data?.is_reader, names, act, onShow: showTag })]);
  const toggleArchive = () => {
    selection.stop();
    setView(view === "listed" ? "archived" : "listed");
  };
  return h(
    "div",
    { id: props.id, className: "threads", onKeyDown: (event) => onListKey(event, selection) },
    h(PaneHead, { title: _("Conversations"), id: "threads-heading" },
      !selection.ids && shown.threads.length > 0 && h(SelectButton, { onClick: selection.start })),
    !data?.is_reader && h(NewButton, { onClick: () => open(null) }),
    h(SearchField, { text, onType: setText }),
    names.has(tag) && h(TagFilter, { name: names.get(tag), onClear: () => setTag(null) }),
    selection.ids && h(Selected,
      { selection, act, isReader: data?.is_reader, isArchive: view === "archived",
        onTags: (ids) => openTagChoice(ids, shown.threads) }),
    h(ThreadsView, { shown, view, text, now, data, act, open, selection, names, filterTag: tag }),
    h(ThreadsFoot, { view, onArchive: toggleArchive, onTags: names.size > 0 ? () => openTags(showTag) : null }),
  );
}

/**
 * The conversations of the view: the list itself, the archive, or those with a tag and the words of the text in their
 * titles.
 */
function useShownThreads(data, view, text, tagName) {
  const listed = useListedThreads(data);
  const words = [tagName && writeFilter(tagName), text.trim()].filter(Boolean).join(" ");
  const isFiltered = view === "archived" || words !== "";
  const query = { view: view === "archived" ? "archived" : text.trim() ? "all" : "listed", text: words };
  const filtered = useFilteredThreads(isFiltered ? query.view : null, words, data);
  return { ...(isFiltered ? filtered : listed), listed: listed.threads, query };
}

/** The open conversation as a row; null on the start page. Its tags are those of the list, where it is in there. */
const findOpen = (data, threads) =>
  threads.find(({ id }) => id === data?.current) ?? (data?.open?.id === data?.current ? (data?.open ?? null) : null);

function SearchField({ text, onType }) {
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || text === "") return;
    event.preventDefault(); // else the same Escape would close the sheet
    onType("");
  };
  const names = { placeholder: _("Search"), "aria-label": _("Search conversations and messages") };
  return h("input", {
    type: "search",
    className: "form-control thread-search",
    value: text,
    autoComplete: "off",
    ...names,
    onKeyDown,
    onChange: (event) => onType(event.target.value),
  });
}

/** In the selecting mode, Ctrl+A selects all and Escape ends it. */
function onListKey(event, selection) {
  if (selection.ids === null || event.defaultPrevented || event.target.matches("input:not([type=checkbox])")) return;
  const isAll = event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey);
  if (!isAll && event.key !== "Escape") return;
  event.preventDefault();
  if (isAll) selection.selectAll();
  else selection.stop();
}

function Selected({ selection, act, isReader, isArchive, onTags }) {
  const [isExporting, setExporting] = useState(false);
  const threads = [...selection.ids];
  const change = (type, fields) => {
    act(type, { threads, ...fields });
    selection.stop();
  };
  return h(
    Fragment,
    null,
    h(SelectionBar, {
      count: threads.length,
      isReader,
      isArchive,
      onAll: selection.selectAll,
      onDone: selection.stop,
      onArchive: () => change("archive", { archived: !isArchive }),
      onTags: () => onTags(threads),
      onExport: () => setExporting(true),
      onDelete: () => act("delete-all", { threads }),
    }),
    isExporting && h(ExportSeveral, { threads, onClose: () => setExporting(false) }),
  );
}

/** List the conversations as commands of the palette. @returns {import("../state/types.mjs").Command[]} */
function listThreadCommands(threads, current, now, open) {
  const others = threads.filter(({ id }) => id !== current);
  const line = ({ id, title, updated }) => ({
    group: _("Conversations"),
    name: title,
    thread: id,
    detail: formatAge(updated, now),
    run: () => open(id),
  });
  const begin = {
    group: _("Actions"), name: _("New conversation"), word: "new", keys: NEW_KEYS, thread: null, run: () => open(null),
  };
  return [begin, ...others.map(line)];
}

const findRow = (id) => document.querySelector(`.threads [data-thread-id="${CSS.escape(id)}"]`);

/** The scrolling part. */
function ThreadsView({ shown, view, text, now, data, act, open, selection, names, filterTag }) {
  const [renamedId, setRenamedId] = useRenamed(findRow);
  const groups = useMemo(() => groupThreads(shown.threads, view, now), [shown.threads, view, now]);
  const actions = useRowActions({ act, open, selection, setRenamedId });
  const { running = [], waiting = [], read_only: onlyRead = [], is_reader: isReader = false } = data ?? {};
  const chosen = useChosenThread(); // it is marked before the page shows it
  const current = chosen.isLost ? null : chosen.isShown ? (data?.current ?? null) : chosen.thread;
  const row = (thread, place) =>
    h(Row, {
      key: thread.id,
      thread,
      place,
      now,
      actions,
      names,
      filterTag,
      state: running.includes(thread.id) ? "running" : waiting.includes(thread.id) ? "waiting" : null,
      mode: selection.ids ? "select" : renamedId === thread.id ? "rename" : "link",
      isCurrent: thread.id === current,
      isSelected: Boolean(selection.ids?.has(thread.id)),
      isAnyView: shown.query.view === "all",
      isReadOnly: isReader || onlyRead.includes(thread.id),
    });
  const isSearching = text.trim() !== "";
  const region = { className: "threads-scroll", tabIndex: 0, role: "region", "aria-label": _("List of conversations") };
  return h(
    "div",
    region,
    shown.threads.length === 0 && !isSearching && !shown.isLoading
      && h("p", { className: "pane-empty" },
        shown.query.text ? _("No conversation here has this tag.") : findEmptyText(view, isReader)),
    h(VirtualList, { groups, renderRow: row, keptId: renamedId, more: shown.more, onNearEnd: shown.loadMore }),
    isSearching && view === "listed" && h(Found, { attempt: text, text: shown.query.text, now }),
  );
}

const findEmptyText = (view, isReader) => EMPTY_TEXTS[isReader && view === "listed" ? "reader" : view];

/** Group threads under headings, without changing their order: the pinned ones, then by age. */
function groupThreads(threads, view, now) {
  const byName = new Map();
  for (const thread of threads) {
    const name = view === "archived" ? _("Archived") : thread.pinned ? _("Pinned") : nameAgeGroup(thread.updated, now);
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name).push(thread);
  }
  return Array.from(byName, ([name, items]) => ({ name, items }));
}

/** The actions of all rows: the same functions in each rendering, so that only a changed row is rendered. */
function useRowActions(parts) {
  const latest = useRef(parts);
  latest.current = parts;
  return useMemo(() => {
    const act = (type, fields) => latest.current.act(type, fields);
    return {
      onOpen: (id) => latest.current.open(id),
      onRename: (id) => latest.current.setRenamedId(id),
      onTitle: (thread, title) => act("rename", { thread, title }),
      onPin: ({ id, pinned }) => act("pin", { thread: id, pinned: !pinned }),
      onArchive: ({ id, archived }) => act("archive", { threads: [id], archived: !archived }),
      onTags: (thread) => openTagChoice([thread.id], [thread]),
      onDelete: (thread) => act("delete", { thread }),
      onSelect: (thread, isRange = false) => latest.current.selection.toggle(thread, isRange),
    };
  }, []);
}

function ThreadsFoot({ view, onArchive, onTags }) {
  const [isExporting, setExporting] = useState(false);
  const button = (label, onClick, state = {}) =>
    h("button", { type: "button", className: "text-button", onClick, ...state }, label);
  return h(
    "div",
    { className: "threads-foot" },
    button(_("Archived"), onArchive, { "aria-pressed": view === "archived" }),
    button(_("Deleted"), () => openDialogAbout(null, "deleted-dialog")),
    onTags && button(_("Tags"), onTags),
    h(
      "button",
      {
        type: "button", className: "text-button", "aria-disabled": isExporting || undefined,
        onClick: () => setExporting(true), // not disabled meanwhile: it has the focus
      },
      _("Export all"),
    ),
    isExporting && h(ExportSeveral, { threads: null, onClose: () => setExporting(false) }),
  );
}
