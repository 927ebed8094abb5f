/** The version of a conversation that the user has seen: of the page's data, and of what the stream has shown since. */

/**
 * The newest version that the stream reported, and the changes that no frame carries, so that the page must read its data
 * for them: each with the version before it.
 * @type {{thread: string|null, version: number, unseen: {version: number, before: number}[]}}
 */
let newest = { thread: null, version: 0, unseen: [] };

const findUnseen = (thread, version) =>
  newest.thread === thread ? newest.unseen.find((each) => each.version > version) : undefined;

/** Return whether the stream has reported a change since this version that only newer data will show. */
export const isChangeUnseen = (thread, version) => findUnseen(thread, version) !== undefined;

/** Return the version that the user sees: the data's, or a newer one up to which the stream has shown every change. */
export function findSeenVersion(thread, version) {
  if (newest.thread !== thread) return version;
  return Math.max(version, findUnseen(thread, version)?.before ?? newest.version);
}

/** @param {import("./types.mjs").Frame} frame */
const isShown = ({ kind, message }) =>
  kind === "end" || kind === "answer" || ((kind === "start" || kind === "message") && Boolean(message));

/** @param {string} thread @param {import("./types.mjs").Frame} frame with a version */
export function recordVersion(thread, frame) {
  if (newest.thread !== thread) newest = { thread, version: 0, unseen: [] };
  if (!isShown(frame)) newest.unseen.push({ version: frame.version, before: newest.version });
  newest.version = frame.version;
}
