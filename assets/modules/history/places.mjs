/** The places of a conversation's tree that History shows, joined to a tree of nodes. Pure functions. */
import { foldText } from "../words/direction.mjs";

/**
 * @typedef {{key: string, kind: "checkpoint"|"branch"|"move"|"alternative"|"removed", value: any, segment: number|null,
 *   messages: number, message: string|null, isElsewhere: boolean, isHere: boolean, isMarked: boolean,
 *   words: string}} PlaceItem something that is at a place: after so many messages, on a segment (null: before the first
 *   message). `isHere`: at the current position; one such item is marked. `words`: the first of the question with which
 *   its line begins; of a node, those of the turn that ends there
 * @typedef {{segment: number, messages: number, message: string|null, words: string, items: PlaceItem[],
 *   parent: PlaceNode|null, children: PlaceNode[], line: "current"|"other"|"removed"|"replaced", size: number,
 *   after: PlaceNode|null}} PlaceNode  `after`: where the path goes on that a summary there replaced; the node's parent is
 *   then the end of what it replaced
 */

export const NO_FILTER = { kind: "all", words: "" };
const ROOT = "null:0";

/** @param {import("../state/types.mjs").HistoryData} data @returns {PlaceNode} the beginning of the conversation */
export function buildNodes(data, filter = NO_FILTER) {
  const nodes = new Map([[ROOT, makeNode(null, 0, null)]]);
  const segments = new Map(data.segments.map((segment) => [segment.id, segment]));
  const isKnown = (segment) => segments.has(segment);
  const items = listItems(data, filter);
  for (const item of items) {
    if (item.kind === "branch" || item.kind === "alternative") item.words = findWords(data, item);
    findNode(nodes, item).items.push(item);
  }
  const summaries = data.moves.filter(({ replaced }) => replaced && isKnown(replaced.segment));
  for (const { replaced } of summaries) if (replaced) findNode(nodes, replaced);
  addForks(nodes, segments);
  joinNodes(nodes, segments);
  for (const summary of summaries) moveBelow(nodes, summary);
  markLines(nodes, items);
  for (const node of nodes.values()) if (isBare(node)) removeNode(node);
  return findNode(nodes, { segment: null, messages: 0, message: null });
}

/** Return the first words with which the line of an item begins, after the last fork or end of a branch before it. */
function findWords({ segments, branches }, { segment, messages }) {
  const forks = segments.filter(({ parent }) => parent === segment);
  const ends = branches.filter((branch) => branch.segment === segment);
  const begins = [
    { from: 0, words: segments.find(({ id }) => id === segment)?.words },
    ...forks.map(({ from, other_words: words }) => ({ from, words })),
    ...ends.map(({ messages: from, next_words: words }) => ({ from, words })),
  ];
  const before = begins.filter(({ from }) => from < messages);
  return before.reduce((last, each) => (each.from > last.from ? each : last), begins[0]).words ?? "";
}

/** List what a filter shows. At one place, the current position comes last: it is always shown. @returns {PlaceItem[]} */
function listItems({ checkpoints, elsewhere, branches, branch_count: count, moves, alternatives, removed }, filter) {
  const make = (kind, value, { isHere = false, isMarked = isHere, isElsewhere = false } = {}) => {
    const { segment, messages, message } = value;
    return {
      key: `${kind}:${value.id ?? ""}`, kind, value, segment, messages, message, isHere, isMarked, isElsewhere, words: "",
    };
  };
  const list = (kind, values, isElsewhere = true) =>
    values
      .map((value) => make(kind, value, { isElsewhere, isHere: !isElsewhere && value.here === true }))
      .filter((item) => isWanted(item, filter));
  const own = list("checkpoint", checkpoints, false);
  const isMarked = !own.some(({ isHere }) => isHere);
  const others = branches.filter(({ current }) => !current);
  const current = branches.filter((branch) => branch.current && (isMarked || count > 1));
  // of no other branch
  const leftBehind = (removed?.checkpoints ?? []).filter(({ id }) => !elsewhere.some((each) => each.id === id));
  return [
    ...list("alternative", alternatives),
    ...list("move", moves, false),
    ...own,
    ...list("checkpoint", [...elsewhere, ...leftBehind]),
    ...list("branch", others),
    ...current.map((branch) => make("branch", branch, { isHere: true, isMarked })),
    ...list("removed", removed ? [removed] : []),
  ];
}

/** Return the filter of History that shows a checkpoint; null for one that somebody else saved. @returns {string|null} */
export function findKind({ created_by: author, saved_by: person }) {
  if (author === "user") return person ? null : "mine";
  return author === "system" ? null : author;
}

/** Return whether a filter shows an item. */
function isWanted({ kind, value }, { kind: wanted, words }) {
  if (words && !(kind === "checkpoint" || kind === "branch")) return false;
  if (words && !foldText(`${value.name}\n${value.description ?? ""}`).includes(words)) return false;
  if (wanted === "all") return true;
  if (wanted === "pinned") return kind === "checkpoint" && value.pinned;
  return (
    (kind === "checkpoint" && findKind(value) === wanted) ||
    (kind === "move" && wanted === "agent" && value.kind !== "summary")
  );
}

/** @returns {PlaceNode} */
const makeNode = (segment, messages, message) => ({
  segment,
  messages,
  message,
  words: "",
  items: [],
  parent: null,
  children: [],
  line: "other",
  size: 1,
  after: null,
});

function findNode(nodes, { segment, messages, message }) {
  const key = segment === null || segment === undefined ? ROOT : `${segment}:${messages}`;
  if (!nodes.has(key)) nodes.set(key, makeNode(segment, messages, message));
  return nodes.get(key);
}

/** Add a node where a segment with nodes forks from another one, up to the beginning. */
function addForks(nodes, segments) {
  const seen = new Set();
  const found = [...nodes.values()]; // the loop adds others
  for (const { segment: first } of found) {
    for (let own = segments.get(first); own && !seen.has(own.id); own = segments.get(own.parent)) {
      seen.add(own.id);
      const fork = findNode(nodes, { segment: own.parent, messages: own.from, message: own.message });
      fork.words = own.fork_words;
    }
  }
}

/** Set the parent of each node: the one before it on its segment, else the one that the segment forks from. */
function joinNodes(nodes, segments) {
  const ordered = [...nodes.values()]
    .filter(({ segment }) => segment !== null)
    .sort((one, other) => one.segment - other.segment || one.messages - other.messages);
  ordered.forEach((node, place) => {
    const before = ordered[place - 1];
    const own = segments.get(node.segment);
    node.parent =
      before?.segment === node.segment
        ? before
        : findNode(nodes, { segment: own?.parent ?? null, messages: own?.from ?? 0, message: null });
    node.parent.children.push(node);
  });
}

/** Put a summary below the end of what it replaced. */
function moveBelow(nodes, summary) {
  const [node, end] = [findNode(nodes, summary), findNode(nodes, summary.replaced)];
  for (let above = end; above; above = above.parent) if (above === node) return;
  if (node.parent === null || node.after) return;
  node.after = node.parent;
  node.parent.children.splice(node.parent.children.indexOf(node), 1);
  node.parent = end;
  end.children.push(node);
}

/** Mark the path to the current position, and what a restore removed. */
function markLines(nodes, items) {
  markCurrent(findNode(nodes, items.find(({ isHere }) => isHere) ?? { segment: null }));
  for (const { isElsewhere, kind, ...item } of items) {
    if (kind === "branch" && isElsewhere)
      for (let node = findNode(nodes, item); node && !node.isReached; node = node.parent) node.isReached = true;
  }
  const end = items.find(({ kind }) => kind === "removed");
  for (let node = end && findNode(nodes, end); node && node.line === "other" && !node.isReached; node = node.parent)
    node.line = "removed";
}

/** Mark the path up from a node, and what its summaries replaced. */
function markCurrent(here) {
  let after = null; // where the path goes on above what a summary replaced
  for (let node = here; node; node = node.parent) {
    if (node === after) after = null;
    node.line = after === null ? "current" : "replaced";
    if (after === null) after = node.after;
  }
}

/** Return whether a node has nothing to show: no item, and no fork. */
const isBare = ({ items, children, parent }) => parent !== null && items.length === 0 && children.length < 2;

function removeNode(node) {
  const siblings = node.parent.children;
  siblings.splice(siblings.indexOf(node), 1, ...node.children);
  for (const child of node.children) child.parent = node.parent;
}
