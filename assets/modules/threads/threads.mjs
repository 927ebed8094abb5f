/** The list of conversations. */
import { buildPath } from "../browser/addresses.mjs";
import { button } from "../controls/buttons.mjs";
import { nameKeys, useCommands } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { useFirstRun } from "../controls/tips.mjs";
import { openDialogAbout } from "../page/callbacks.mjs";
import { useExport } from "../page/exporting.mjs";
import { PaneHead, closeSheets } from "../page/panes.mjs";
import { HitLine, SEARCH_HINT, SearchState, openHit, useSearch } from "../page/search.mjs";
import { useActions } from "../state/actions.mjs";
import { useChosenThread, expectThread } from "../state/chosen-thread.mjs";
import { goTo } from "../state/panels.mjs";
import { showMessage } from "../state/show-message.mjs";
import { useNow } from "../words/clock.mjs";
import { formatAge, nameAgeGroup } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
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

function NewButton({ onClick }) {
  const label = h(Fragment, null, icon("plus-lg"), h("span", null, _("New conversation")));
  return button("new-thread", label, onClick, { "aria-keyshortcuts": NEW_KEYS, title: NEW_TITLE });
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
      !selection.ids && shown.threads.length > 0 && button("text-button", _("Select"), selection.start)),
    !data?.is_reader && h(NewButton, { onClick: () => open(null) }),
    h(SearchField, { text, onType: setText }),
    names.has(tag) && h(TagFilter, { name: names.get(tag), onClear: () => setTag(null) }),
    selection.ids && h(SelectionBar,
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
  return h("input", {
    type: "search", className: "form-control thread-search", value: text, autoComplete: "off", placeholder: _("Search"),
    "aria-label": _("Search conversations and messages"), onKeyDown, onChange: (event) => onType(event.target.value),
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

/** List the conversations as commands of the palette. @returns {import("../state/types.mjs").Command[]} */
const listThreadCommands = (threads, current, now, open) => [
  { group: _("Actions"), name: _("New conversation"), word: "new", keys: NEW_KEYS, thread: null, run: () => open(null) },
  ...threads
    .filter(({ id }) => id !== current)
    .map(({ id, title, updated }) => ({
      group: _("Conversations"),
      name: title,
      thread: id,
      detail: formatAge(updated, now),
      run: () => open(id),
    })),
];

const findRow = (id) => document.querySelector(`.threads [data-thread-id="${CSS.escape(id)}"]`);

/** The scrolling part. */
function ThreadsView({ shown, view, text, now, data, act, open, selection, names, filterTag }) {
  const [renamedId, setRenamedId] = useRenamed(findRow);
  const groups = useMemo(() => groupThreads(shown.threads, view, now), [shown.threads, view, now]);
  const actions = useRowActions({ act, open, selection, setRenamedId });
  const { running = [], waiting = [], read_only: onlyRead = [], is_reader: isReader = false } = data ?? {};
  const chosen = useChosenThread(); // it is marked before the page shows it
  const current = chosen.isLost ? null : chosen.isShown ? (data?.current ?? null) : chosen.thread;
  const row = (thread, line) =>
    h(Row, {
      key: thread.id,
      thread,
      line,
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
    isSearching && view === "listed" && h(Found, { text: shown.query.text, now }),
  );
}

const findEmptyText = (view, isReader) => EMPTY_TEXTS[isReader && view === "listed" ? "reader" : view];

/** Group threads under headings, without changing their order: the pinned ones, then by age. */
function groupThreads(threads, view, now) {
  const nameGroup = ({ pinned, updated }) =>
    view === "archived" ? _("Archived") : pinned ? _("Pinned") : nameAgeGroup(updated, now);
  return Array.from(Map.groupBy(threads, nameGroup), ([name, items]) => ({ name, items }));
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
  const { isExporting, startExport } = useExport();
  return h(
    "div",
    { className: "threads-foot" },
    button("text-button", _("Archived"), onArchive, { "aria-pressed": view === "archived" }),
    button("text-button", _("Deleted"), () => openDialogAbout(null, "deleted-dialog")),
    onTags && button("text-button", _("Tags"), onTags),
    // Not disabled meanwhile: it has the focus.
    button("text-button", _("Export all"), () => startExport(null), { "aria-disabled": isExporting || undefined }),
  );
}

/** The results of a search in all conversations, below the titles that match. */
function Found({ text, now }) {
  const found = useSearch(text);
  const isEmpty = found.hits.length === 0 && !found.failed && !found.pending;
  const row = (hit, index) =>
    h("li", { key: index, className: "thread-row" },
      button("thread-link thread-hit", h(HitLine, { hit, now }), () => openHit(hit)));
  return h(
    "section",
    { "aria-label": _("In messages") },
    h("h3", null, _("In messages")),
    h("ul", null, found.hits.map(row)),
    isEmpty &&
      h("p", { className: "pane-empty", role: "status" }, found.isSearching ? _("Searching…") : _("No message matches.")),
    h(SearchState, { found, className: "pane-empty" }),
    isEmpty && !found.isSearching && h("p", { className: "pane-empty" }, SEARCH_HINT),
  );
}
