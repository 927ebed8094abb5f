/** The list of conversations. */
import { useActions } from "./actions.mjs";
import { useNow } from "./clock.mjs";
import { useOffer } from "./commands.mjs";
import { ageGroup, fullTime, relativeTime } from "./format.mjs";
import { icon } from "./icons.mjs";
import { NameField } from "./renaming.mjs";
import { PaneHead } from "./sheet.mjs";
import { closeSheets } from "./shell.mjs";
import { say } from "./toast.mjs";

const { createElement: h, useEffect, useState } = window.React;

/** @typedef {{id: string, title: string, updated: string, running: boolean}} ThreadItem */

/** @param {{id: string, data?: {threads: ThreadItem[], current: string|null}, reply?: import("./later/deleted.mjs").DeletedItem[], setProps: Function}} props */
export function Threads(props) {
  const { threads, current } = props.data ?? { threads: [], current: null };
  const act = useActions(props);
  const now = useNow();
  const [renaming, setRenaming] = useState(null);

  const open = (type, fields) => {
    act(type, fields);
    closeSheets({ restoreFocus: false });
  };
  useOffer("threads", () => [
    { group: "Actions", name: "New conversation", run: () => open("new") },
    ...threads
      .filter(({ id }) => id !== current)
      .map(({ id, title, updated }) => ({ group: "Conversations", name: title, detail: relativeTime(updated, now), run: () => open("open", { thread: id }) })),
  ]);
  const row = (thread) =>
    renaming === thread.id
      ? h(
          "li",
          { key: thread.id, className: "thread-row thread-renaming" },
          h(NameField, {
            label: "Title of the conversation",
            value: thread.title,
            maxLength: 200,
            onDone: (title) => {
              setRenaming(null);
              if (title !== null) act("rename", { thread: thread.id, title });
            },
          }),
        )
      : h(ThreadRow, {
          key: thread.id,
          thread,
          now,
          isCurrent: thread.id === current,
          onOpen: () => open("open", { thread: thread.id }),
          onRename: () => setRenaming(thread.id),
          onDelete: () => act("delete", { thread: thread.id }),
        });

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
    h(
      "div",
      { className: "threads-scroll", tabIndex: 0, role: "region", "aria-label": "List of conversations" },
      threads.length === 0 && h("p", { className: "pane-empty" }, "Your conversations will stand here."),
      groups(threads, now).map(({ name, items }) =>
        h("section", { key: name, "aria-label": name }, h("h3", null, name), h("ul", null, items.map(row))),
      ),
      h(DeletedFold, { found: props.reply, threads, act, onBringBack: (thread) => open("bring-back", thread) }),
    ),
  );
}

/** What was deleted and can be brought back: asked for when it is opened, and when the list changes while it is open. */
function DeletedFold({ found, threads, act, onBringBack }) {
  const [isOpen, setOpen] = useState(false);
  const [List, setList] = useState(null);
  const listed = threads.map(({ id }) => id).join();
  useEffect(() => {
    if (isOpen) act("deleted");
  }, [isOpen, listed, act]);
  const show = () => {
    setOpen(!isOpen);
    import("./later/deleted.mjs").then((module) => setList(() => module.Deleted), () => say("What was deleted could not be shown; please try again."));
  };
  return h(
    "section",
    { "aria-label": "Deleted" },
    h("button", { type: "button", className: "text-button", "aria-expanded": isOpen, onClick: show }, "Deleted"),
    isOpen && List && found && h(List, { found, onBringBack }),
  );
}

/** Threads under headings by age, in the order in which they came. */
function groups(threads, now) {
  const byName = new Map();
  for (const thread of threads) {
    const name = ageGroup(thread.updated, now);
    byName.set(name, [...(byName.get(name) ?? []), thread]);
  }
  return Array.from(byName, ([name, items]) => ({ name, items }));
}

function ThreadRow({ thread, now, isCurrent, onOpen, onRename, onDelete }) {
  const onClick = (event) => {
    // Anything but a plain click belongs to the browser: a new tab, a new window, a download.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (!isCurrent && event.detail < 2) onOpen(); // the second click of a double click is on its way to a rename
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
        thread.running
          ? h("span", { className: "thread-running" }, h("span", { className: "running-dot" }), "answering")
          : h("time", { dateTime: thread.updated, title: fullTime(thread.updated) }, relativeTime(thread.updated, now)),
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

function RowButton({ label, sign, ...rest }) {
  return h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, ...rest }, icon(sign));
}
