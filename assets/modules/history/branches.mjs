/** The branches of the conversation as a small tree: where each diverges from the current path. */
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { NameField } from "../lib/name-field.mjs";
import { scrollWithin } from "../lib/scroll-within.mjs";

const { Fragment, createElement: h, useEffect, useMemo, useRef, useState } = window.React;

const MAX_BRANCH_NAME_CHARS = 120;
const PORTION_BRANCHES = 100; // that each "Show earlier" adds
const NO_BRANCHES = [];

/**
 * Join the branches of the data with those that "Show earlier" has brought, and bring these again after each change.
 * @param {import("../lib/types.mjs").HistoryData} data @param {import("../lib/types.mjs").BranchPortion} [reply]
 */
export function useBranches(data, reply, act) {
  const [count, setCount] = useState(0); // that the page asked for
  useEffect(() => setCount(0), [data.thread]);
  useEffect(() => {
    if (count > 0) act("branches", { count });
  }, [count, data.version]);
  const portion = count > 0 && reply?.thread === data.thread ? reply.branches : NO_BRANCHES;
  const branches = useMemo(() => joinBranches(portion, data.branches), [portion, data.branches]);
  return { branches, showEarlier: () => setCount(branches.length + PORTION_BRANCHES) };
}

/** The data is newer than the portion, until this was brought again. */
function joinBranches(portion, newest) {
  const byId = new Map(newest.map((branch) => [branch.id, branch]));
  const brought = new Set(portion.map(({ id }) => id));
  return [...portion.map((branch) => byId.get(branch.id) ?? { ...branch, current: false }), ...newest.filter(({ id }) => !brought.has(id))];
}

/**
 * @param {{data: import("../lib/types.mjs").HistoryData, act: Function, onCompare: (place: string) => void,
 *   onEarlier: () => void}} props
 */
export function Branches({ data, act, onCompare, onEarlier }) {
  const { branches, branch_count: count } = data;
  const { list, renaming, setRenaming, rename } = useRenaming(act);
  const currentId = branches.find(({ current }) => current)?.id;
  useEffect(() => scrollWithin(list.current, list.current.querySelector(".branch-current")), [currentId]);
  const hidden = count - branches.length;
  const row = (branch) =>
    renaming === branch.id
      ? h(NameField, { label: "Name of the branch", value: branch.name, maxLength: MAX_BRANCH_NAME_CHARS, onDone: (name) => rename(branch.id, name) })
      : h(Branch, { branch, act, onCompare, onRename: () => setRenaming(branch.id) });
  return h(
    "div",
    { className: "branches", role: "group", "aria-label": "Branches" },
    h(
      "div",
      { className: "branches-head" },
      h("h3", { className: "history-heading" }, "Branches"),
      h("button", { type: "button", className: "text-button", onClick: () => act("prune") }, "Delete all others"),
    ),
    hidden > 0 && h("button", { type: "button", className: "text-button", onClick: onEarlier }, `Show earlier (${hidden})`),
    h(
      "ul",
      { ref: list },
      branches.map((branch) =>
        h("li", { key: branch.id, className: `branch-row${branch.current ? " branch-current" : ""}` }, row(branch)),
      ),
    ),
  );
}

/** Track the branch that is being renamed. Afterwards its button gets the focus, which the field took with it. */
function useRenaming(act) {
  const [renaming, setRenaming] = useState(null);
  const list = useRef(null);
  const renamed = useRef(null);
  useEffect(() => {
    if (renaming !== null || renamed.current === null) return;
    list.current.querySelector(`[data-branch-id="${renamed.current}"]`)?.focus();
    renamed.current = null;
  }, [renaming]);
  const rename = (branch, name) => {
    if (name !== null) act("rename-branch", { branch, name });
    renamed.current = branch;
    setRenaming(null);
  };
  return { list, renaming, setRenaming, rename };
}

/** @param {{branch: BranchView, act: Function, onCompare: (place: string) => void, onRename: () => void}} props */
function Branch({ branch, act, onCompare, onRename }) {
  const tool = (label, sign, onClick, testid) =>
    h(
      "button",
      { type: "button", className: "icon-button", "aria-label": label, title: label, "data-testid": testid, onClick },
      icon(sign),
    );
  return h(
    Fragment,
    null,
    h(
      "button",
      {
        type: "button",
        className: "branch",
        "data-testid": "branch",
        "data-branch-id": branch.id,
        "aria-pressed": branch.current,
        title: branch.current ? undefined : `Switch to ${branch.name}`,
        onClick: () => !branch.current && act("switch", { branch: branch.id }),
      },
      h("span", { className: "branch-name" }, branch.name),
      h("span", { className: "branch-place" }, describePlace(branch)),
    ),
    h(
      "span",
      { className: "row-tools" },
      !branch.current && tool(`Compare branch ${branch.name} with the current position`, "layout-split", () => onCompare(`branch:${branch.id}`), "compare"),
      tool(`Rename branch ${branch.name}`, "pencil", onRename),
      !branch.current && tool(`Delete branch ${branch.name}`, "trash3", () => act("delete-branch", { branch: branch.id }), "delete"),
    ),
  );
}

/** Describe where a branch diverges from the current one, and how long it is. */
function describePlace({ current, messages, shared }) {
  if (current) return `you are here · ${formatCount(messages, "message")}`;
  const from = shared === messages ? `at message ${messages}` : `from message ${shared}`;
  return `${shared ? from : "from the beginning"} · ${formatCount(messages, "message")}`;
}
