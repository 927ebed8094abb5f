/** The list of conversations. */
import { useActions } from "../lib/actions.mjs";
import { useNow } from "../lib/clock.mjs";
import { useCommands } from "../lib/commands.mjs";
import { formatAge, formatDateTime, nameAgeGroup } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { NameField } from "../lib/name-field.mjs";
import { PaneHead } from "../page/pane-head.mjs";
import { closeSheets } from "../page/shell.mjs";

const { createElement: h, useEffect, useState } = window.React;

const MAX_TITLE_CHARS = 200;
const Found = lazy(() => import("./found.lazy.mjs"), "Found", "The search could not be loaded. Please try again.");
const Deleted = lazy(() => import("./deleted.lazy.mjs"), "Deleted", "The deleted conversations could not be loaded. Please try again.");

/** @param {{id: string, data?: {threads: ThreadItem[], current: string|null}, reply?: import("../lib/types.mjs").DeletedItem[], setProps: Function}} props */
export function Threads(props) {
  const { threads, current } = props.data ?? { threads: [], current: null };
  const act = useActions(props);
  const now = useNow();
  const [text, setText] = useState("");

  const open = (type, fields) => {
    act(type, fields);
    closeSheets({ restoreFocus: false });
  };
  useCommands("threads", () => listThreadCommands(threads, current, now, open));
  const row = (thread) =>
    h(Row, { key: thread.id, thread, now, act, isCurrent: thread.id === current, onOpen: () => open("open", { thread: thread.id }) });

  return h(
    "div",
    { id: props.id, className: "threads" },
    h(PaneHead, { title: "Conversations", id: "threads-heading" }),
    h(
      "button",
      { type: "button", className: "new-thread", onClick: () => open("new") },
      icon("plus-lg"),
      h("span", null, "New conversation"),
    ),
    h(SearchField, { text, onType: setText }),
    h(
      "div",
      { className: "threads-scroll", tabIndex: 0, role: "region", "aria-label": "List of conversations" },
      threads.length === 0 && h("p", { className: "pane-empty" }, "Your conversations will appear here."),
      groupByAge(matchTitles(threads, text), now).map(({ name, items }) =>
        h("section", { key: name, "aria-label": name }, h("h3", null, name), h("ul", null, items.map(row))),
      ),
      text.trim() !== "" && h(Found, { text, now }),
      text.trim() === "" && h(DeletedFold, { deleted: props.reply, threads, act, onBringBack: (thread) => open("bring-back", thread) }),
    ),
  );
}

/** @returns the threads whose titles contain all words of the text */
function matchTitles(threads, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return threads.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

function SearchField({ text, onType }) {
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || text === "") return;
    event.preventDefault(); // else the same Escape would close the sheet
    onType("");
  };
  const names = { placeholder: "Search", "aria-label": "Search conversations and messages" };
  return h("input", { type: "search", className: "form-control thread-search", value: text, autoComplete: "off", ...names, onKeyDown, onChange: (event) => onType(event.target.value) });
}

/** List the conversations as commands of the palette. @returns {import("../lib/types.mjs").Command[]} */
function listThreadCommands(threads, current, now, open) {
  const others = threads.filter(({ id }) => id !== current);
  const line = ({ id, title, updated }) => ({ group: "Conversations", name: title, detail: formatAge(updated, now), run: () => open("open", { thread: id }) });
  return [{ group: "Actions", name: "New conversation", run: () => open("new") }, ...others.map(line)];
}

/** Deleted conversations that can be brought back: requested when the fold opens, and again when the list changes. */
function DeletedFold({ deleted, threads, act, onBringBack }) {
  const [isOpen, setOpen] = useState(false);
  const listedIds = threads.map(({ id }) => id).join();
  useEffect(() => {
    if (isOpen) act("deleted");
  }, [isOpen, listedIds, act]);
  return h(
    "section",
    { "aria-label": "Deleted" },
    h("button", { type: "button", className: "text-button", "aria-expanded": isOpen, onClick: () => setOpen(!isOpen) }, "Deleted"),
    isOpen && deleted && h(Deleted, { deleted, onBringBack }),
  );
}

/** Group threads under headings by age, without changing their order. */
function groupByAge(threads, now) {
  const byName = new Map();
  for (const thread of threads) {
    const name = nameAgeGroup(thread.updated, now);
    byName.set(name, [...(byName.get(name) ?? []), thread]);
  }
  return Array.from(byName, ([name, items]) => ({ name, items }));
}

/** A thread, or the field that changes its title. */
function Row({ act, ...props }) {
  const { id, title } = props.thread;
  const [isRenaming, setRenaming] = useState(false);
  const onDone = (name) => {
    setRenaming(false);
    if (name !== null) act("rename", { thread: id, title: name });
  };
  if (!isRenaming) return h(ThreadRow, { ...props, onRename: () => setRenaming(true), onDelete: () => act("delete", { thread: id }) });
  const field = h(NameField, { label: "Title of the conversation", value: title, maxLength: MAX_TITLE_CHARS, onDone });
  return h("li", { className: "thread-row thread-renaming" }, field);
}

function ThreadRow({ thread, now, isCurrent, onOpen, onRename, onDelete }) {
  const onClick = (event) => {
    // Anything but a plain click belongs to the browser: a new tab, a new window, a download.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (!isCurrent && event.detail < 2) onOpen(); // the second click of a double click begins a rename
  };
  return h(
    "li",
    { className: `thread-row${isCurrent ? " thread-current" : ""}` },
    h(
      "a",
      {
        href: `/t/${encodeURIComponent(thread.id)}`,
        className: "thread-link",
        "data-testid": "thread",
        "data-thread-id": thread.id,
        "aria-current": isCurrent ? "page" : undefined,
        onClick,
        onDoubleClick: onRename,
      },
      h("span", { className: "thread-title", title: thread.title }, thread.title),
      h(
        "span",
        { className: "thread-meta" },
        h(ThreadState, { thread, now }),
      ),
    ),
    h(
      "span",
      { className: "row-buttons" },
      h(RowButton, { label: `Rename ${thread.title}`, sign: "pencil", onClick: onRename }),
      h(RowButton, { label: `Delete ${thread.title}`, sign: "trash3", onClick: onDelete, "data-testid": "delete" }),
    ),
  );
}

/** The state of a thread that is not at rest, or its age. */
function ThreadState({ thread, now }) {
  if (thread.running) return h("span", { className: "thread-running" }, h("span", { className: "running-dot" }), "answering");
  if (thread.waiting) return h("span", { className: "thread-waiting" }, "waits for you");
  return h("time", { dateTime: thread.updated, title: formatDateTime(thread.updated) }, formatAge(thread.updated, now));
}

function RowButton({ label, sign, ...rest }) {
  return h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, ...rest }, icon(sign));
}
