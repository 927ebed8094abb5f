/** The list of conversations that the page has: it is merged with what changes, so that no change sends all of it. */
import { buildApi } from "../browser/addresses.mjs";
import { send } from "../requests/send.mjs";

/** @typedef {import("./types.mjs").ThreadItem} ThreadItem */

/** The moment of the list that the page has: the server then sends what has changed since. */
let listSeen = null;
export const getListSeen = () => listSeen;
export const noteListSeen = (seen) => (listSeen = seen);

const compareTexts = (one, other) => (one < other ? -1 : Number(one > other));
const comparePlaces = (one, other) =>
  other.pinned - one.pinned || compareTexts(other.updated, one.updated) || compareTexts(one.id, other.id);

/**
 * Merge conversations into a list: each is there once, in its newest state, and in the order of the list.
 * @param {ThreadItem[]} threads @param {ThreadItem[]} changed @param {string[]} [gone] ids
 * @returns {ThreadItem[]}
 */
export function mergeThreads(threads, changed, gone = []) {
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  for (const thread of changed) if (!((byId.get(thread.id)?.updated ?? "") > thread.updated)) byId.set(thread.id, thread);
  for (const id of gone) byId.delete(id);
  return [...byId.values()].sort(comparePlaces);
}

/** Whether a conversation is one's own, or is still shared by its owner. */
const isStillShared = (shared) => (thread) => !thread.owner || !shared || shared.includes(thread.id);

/**
 * @typedef {{threads: ThreadItem[], more?: boolean, seen: string|null}} KnownList
 * @param {KnownList} list that the page has
 * @param {import("./types.mjs").ThreadsData} data a list, or what has changed since the list that the page has
 * @returns {KnownList}
 */
export function applyListData(list, data) {
  const { since, seen, gone, shared } = data;
  const isNew = since === null && seen !== list.seen; // the same list may come again, with a turn's change
  if (isNew) return { threads: mergeThreads([], data.threads), more: data.more, seen };
  return { threads: mergeThreads(list.threads, data.threads, gone).filter(isStillShared(shared)), more: list.more, seen };
}

/**
 * Fetch a portion of the list.
 * @param {{view: string, text?: string, after?: ThreadItem, limit?: number, signal?: AbortSignal}} wanted
 * @returns {Promise<{threads: ThreadItem[], more: boolean}|null>} null without a usable reply
 */
export async function fetchThreads({ view, text = "", after, limit, signal }) {
  const place = after && { after: after.id, updated: after.updated, pinned: String(after.pinned) };
  const query = { view, ...(text && { q: text }), ...place, ...(limit && { limit: String(limit) }) };
  return (await send(buildApi("threads", query), { signal })).reply;
}
