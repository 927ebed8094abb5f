/**
 * Lay out the tree of a conversation: one row for each place, lanes for branches, and edges between rows. Pure functions.
 */
import { buildNodes } from "./places.mjs";

const MIN_FOLDED_MESSAGES = 6; // fewer messages between two places get no row of their own

/**
 * @typedef {import("./places.mjs").PlaceNode} PlaceNode
 * @typedef {import("./places.mjs").PlaceItem} PlaceItem
 * @typedef {import("../state/types.mjs").BranchView} BranchView
 * @typedef {"current"|"other"|"removed"|"replaced"} Line
 * @typedef {{key: string, kind: "checkpoint"|"branch"|"move"|"alternative"|"fork"|"fold"|"beginning"|"removed",
 *   lane: number, item: PlaceItem|null, branch: BranchView|null, messages: number, message: string|null, words: string,
 *   count: number, line: Line, tokens: number|null, up: number, down: number}} HistoryRow `branch`: the one that ends here.
 *   `count`: of the messages in a fold. `up` and `down`: the rows before and after it on its branch; -1 for none
 * @typedef {{from: number, to: number, line: Line}} HistoryEdge  between the numbers of two rows
 * @typedef {{rows: HistoryRow[], edges: HistoryEdge[], lanes: number, numbers: Map<string, number>, here: number,
 *   forks: number[]}} HistoryLayout For keys, which must not scan a thousand rows each time: `numbers` of rows by their
 *   keys, the current position (-1: none), and the rows that a branch forks from, in order
 */

/**
 * Parents come before their children. A node's other children come before the one that continues its lane, each in the lane
 * to the right: so no edge crosses another, and there are never more lanes than the logarithm of the rows.
 * @param {import("../state/types.mjs").HistoryData} data @param {{kind: string, words: string}} [filter]
 * @returns {HistoryLayout}
 */
export function layOutHistory(data, filter) {
  const root = buildNodes(data, filter);
  measureNodes(root);
  const layout = { rows: [], edges: [] };
  const open = [{ node: root, lane: 0, from: -1, isMain: false }];
  for (let next = open.pop(); next; next = open.pop()) emitNode(layout, next, open);
  return addIndexes(layout);
}

/** Add what can be known of the rows once for all keys. */
function addIndexes({ rows, edges }) {
  const lanes = rows.reduce((most, { lane }) => Math.max(most, lane + 1), 1);
  const forks = new Set(edges.filter(({ from, to }) => rows[from].lane !== rows[to].lane).map(({ from }) => from));
  const numbers = new Map(rows.map(({ key }, number) => [key, number]));
  rows.forEach(({ branch }, number) => branch && numbers.set(`branch:${branch.id}`, number));
  return {
    rows,
    edges,
    lanes,
    numbers,
    here: rows.findIndex(({ item }) => item?.isHere),
    forks: [...forks].sort((one, other) => one - other),
  };
}

export const NO_LAYOUT = addIndexes({ rows: [], edges: [] });

/** Count the rows below each node, and choose the child that continues its lane: on the current path, else the largest. */
function measureNodes(root) {
  const order = [root];
  for (let place = 0; place < order.length; place += 1) order.push(...order[place].children);
  for (const node of order.reverse()) {
    node.size = 1 + node.children.reduce((sum, child) => sum + child.size, 0);
    if (node.children.length > 1) node.children.sort(compareChildren);
  }
}

const RANKS = { other: 0, removed: 1, replaced: 2, current: 3 };
const compareChildren = (one, other) =>
  RANKS[one.line] - RANKS[other.line] || one.size - other.size || one.segment - other.segment;

/** @returns {number|null} tokens up to the place of an item, as far as the item has them */
const countTokens = ({ value }) => value.tokens ?? value.after ?? null;

/**
 * Find the end of a branch and the checkpoint there that are one row: at the current position; and on another branch, where
 * the checkpoint cannot be restored, if no other branch ends there.
 */
function findFold({ items }) {
  const ends = items.filter(({ kind }) => kind === "branch");
  const checkpoints = items.filter(({ kind }) => kind === "checkpoint");
  const [end, into] = ends.some(({ isHere }) => isHere)
    ? [ends.find(({ isHere }) => isHere), checkpoints.find(({ isHere }) => isHere)]
    : [ends[0], ends.length === 1 ? checkpoints.findLast(({ isElsewhere }) => isElsewhere) : undefined];
  return into ? { end, into } : null;
}

/** Add the rows of a node, and put its children on the stack: the one that continues its lane comes last. */
function emitNode({ rows, edges }, { node, lane, from, isMain }, open) {
  const { messages, message, line } = node;
  const fold = findFold(node);
  let above = from;
  const add = (kind, key, item, count) => {
    const number = rows.length;
    const tokens = item && (countTokens(item) ?? placeTokens);
    const folded = item !== null && item === fold?.into ? fold?.end.value : null;
    const branch = kind === "branch" ? item.value : folded;
    const words = item?.words ?? node.words;
    rows.push({ key, kind, item, branch, count, lane, messages, message, words, line, tokens, up: above, down: -1 });
    if (above >= 0) {
      edges.push({ from: above, to: number, line: node.after && above === from && line === "current" ? "replaced" : line });
      if (above !== from || isMain) rows[above].down = number;
    }
    above = number;
  };
  // counted by another item at the place
  const placeTokens = node.items.map(countTokens).find((tokens) => tokens !== null) ?? null;
  const isFork = node.items.length === 0 && node.children.length > 1;
  const before = node.after ?? node.parent; // what a summary replaced is not before it
  const folded = before === null ? 0 : messages - before.messages - 1;
  const place = `${node.segment}:${messages}`;
  if (folded >= MIN_FOLDED_MESSAGES) add("fold", `fold:${place}`, null, folded);
  if (isFork) add(node.parent === null ? "beginning" : "fork", `fork:${place}`, null, 0);
  for (const item of node.items) if (item !== fold?.end) add(item.kind, item.key, item, 0);
  for (let place = node.children.length - 1; place >= 0; place -= 1) {
    const isLast = place === node.children.length - 1;
    open.push({ node: node.children[place], lane: isLast ? lane : lane + 1, from: above, isMain: isLast });
  }
}

/**
 * @param {HistoryLayout} layout @param {number} number of the row that has the focus
 * @param {string} key @returns {number|null} the number of a row, -1 where there is none; null for another key
 */
export function findNeighbour({ rows, forks }, number, key) {
  if (key === "ArrowUp") return rows[number].up;
  if (key === "ArrowDown") return rows[number].down;
  if (key === "ArrowLeft") return findOnLeft(rows, number);
  if (key === "ArrowRight") return findOnRight(rows, number);
  if (key === "Home") return 0;
  if (key === "End") return rows.length - 1;
  return key === "n" ? findNextFork(forks, number) : null;
}

/** Find the place on another branch that this branch begins at. */
function findOnLeft(rows, number) {
  let found = number;
  while (found >= 0 && rows[found].lane >= rows[number].lane) found = rows[found].up;
  return found;
}

/** Find the nearest row on the next branch to the right. */
function findOnRight(rows, number) {
  const wanted = rows[number].lane + 1;
  for (let distance = 1; distance < rows.length; distance += 1) {
    for (const found of [number + distance, number - distance]) if (rows[found]?.lane === wanted) return found;
  }
  return -1;
}

/** Find the next row that a branch forks from; after the last one, the first. */
const findNextFork = (forks, number) => forks.find((from) => from > number) ?? forks[0] ?? -1;
