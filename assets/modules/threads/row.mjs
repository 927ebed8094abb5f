/** One conversation of the list: its link and its menu, the field that changes its title, or its checkbox. */
import { buildPath, buildApi } from "../browser/addresses.mjs";
import { iconButton } from "../controls/buttons.mjs";
import { copyLink } from "../controls/copying.mjs";
import { MoreButton } from "../controls/menu.mjs";
import { NameField } from "../controls/name-field.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { noticeRunEnd } from "../state/notices.mjs";
import { refreshThreads } from "../state/panels.mjs";
import { findDirection } from "../words/direction.mjs";
import { formatBriefAge, formatDateTime } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { RowTags } from "./tags.mjs";

const { createElement: h, memo, useEffect, useRef } = window.React;

const ASK_AGAIN_MS = 3000;
const TOLD_ASKS_EVERY = 5; // of these moments: where the socket tells of the ends, it may have been lost for a while

/**
 * Ask the server for the states of runs while another conversation is running.
 * @param {import("../state/types.mjs").ThreadsData|undefined} data
 * @param {import("../state/types.mjs").ThreadItem[]} threads
 */
export function useOtherRuns(data, threads) {
  const { running = [], waiting = [], current = null, told = false } = data ?? {};
  const followed = useRef(new Set());
  const latest = useRef(threads);
  latest.current = threads;
  const others = running.filter((id) => id !== current);
  const isFollowing = others.length > 0;
  const every = told && current !== null ? TOLD_ASKS_EVERY : 1;
  useEffect(() => {
    const ended = [...followed.current].filter((id) => !running.includes(id));
    followed.current = new Set(others);
    for (const id of ended) {
      const title = latest.current.find((thread) => thread.id === id)?.title ?? "";
      if (id !== current) noticeRunEnd({ thread: id, title, isWaiting: waiting.includes(id), isOpen: false });
    }
  }, [data]);
  useEffect(() => {
    if (!isFollowing) return undefined;
    let moments = 0;
    const timer = setInterval(async () => {
      if (moments++ % every) return; // the first one counts: an end may have come before the socket
      const reply = await fetchAsPage(buildApi("runs")).catch(() => null);
      const states = reply?.ok ? await reply.json() : null;
      if (states && [...followed.current].some((id) => !states.running.includes(id))) refreshThreads();
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isFollowing, every]);
}

const MAX_TITLE_CHARS = 200;

/**
 * @typedef {{onOpen: (id: string) => void, onRename: (id: string|null) => void, onDelete: (id: string) => void,
 *   onPin: (thread: object) => void, onArchive: (thread: object) => void, onTags: (thread: object) => void,
 *   onTitle: (id: string, title: string) => void, onSelect: (thread: object, isRange?: boolean) => void}} RowActions
 * @param {{thread: import("../state/types.mjs").ThreadItem, line: number, now: number,
 *   state: "running"|"waiting"|null, mode: "link"|"rename"|"select", isCurrent: boolean, isSelected: boolean,
 *   isAnyView: boolean, isReadOnly: boolean, names: import("./tags.mjs").TagNames, filterTag: string|null,
 *   actions: RowActions}} props
 */
export const Row = memo((props) => {
  const { thread: { id, title }, line, mode, isCurrent, actions } = props;
  const classes = (className) => `thread-row ${className}${isCurrent ? " thread-current" : ""}`;
  const row = (className, ...parts) =>
    h("li", { className: classes(className), style: { "--line": line }, "data-index": line }, ...parts);
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
});

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
  return h(
    "a",
    {
      href: buildPath(id), className: "thread-link", "data-testid": "thread", "data-thread-id": id,
      "aria-current": isCurrent ? "page" : undefined, onClick, onKeyDown, onDoubleClick: rename,
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
  const { id, title, pinned, archived, owner } = thread;
  const isOrdered = !owner && !isReadOnly; // the owner alone orders and deletes it
  const list = () =>
    [
      !isReadOnly && [_("Rename"), () => actions.onRename(id)],
      isOrdered && [pinned ? _("Unpin") : _("Pin"), () => actions.onPin(thread)],
      isOrdered && [archived ? _("Unarchive") : _("Archive"), () => actions.onArchive(thread)],
      isOrdered && [_("Tags"), () => actions.onTags(thread)],
      [_("Copy link"), () => copyLink(id)],
      !owner && [_("Select"), () => actions.onSelect(thread)],
    ].filter(Boolean);
  return h(
    "span",
    { className: "row-buttons" },
    h(MoreButton, { name: _("More for {title}", { title }), list }),
    isOrdered &&
      iconButton("trash3", _("Delete {title}", { title }), () => actions.onDelete(id), { "data-testid": "delete" }),
  );
}
