/** What each conversation has that is not sent yet, kept in the session storage of the tab across a reload. */

/**
 * Return the storage key of an unsent message: the draft, the inputs of a graph beside it, the queued message, a sent
 * message without a reply, or a command that waits until its conversation is shown.
 * @typedef {{text: string, request_id: string, files: number, inputs?: InputTexts}} UnsentMessage  its request id prevents a
 *   second send; `files` is their number; `inputs` went with it
 * @typedef {Record<string, string|boolean>} InputTexts  what was typed, by the names of the inputs
 * @param {"draft"|"inputs"|"queue"|"sent"|"command"} kind
 * @param {string|null} thread null for a conversation that has not begun
 */
const getStorageKey = (kind, thread) => `waymark-${kind}:${thread ?? ""}`;

/** @param {string|UnsentMessage|InputTexts|null} value an empty one removes the entry */
export function storeUnsent(kind, thread, value) {
  try {
    if (value) sessionStorage.setItem(getStorageKey(kind, thread), JSON.stringify(value));
    else sessionStorage.removeItem(getStorageKey(kind, thread));
  } catch {
    // The storage is full or blocked: typed text stays in the field while the page is open.
  }
}

/** @returns {string|UnsentMessage|InputTexts|null} */
export function readUnsent(kind, thread) {
  try {
    return JSON.parse(sessionStorage.getItem(getStorageKey(kind, thread)));
  } catch {
    return null;
  }
}

/** Move the entry of a new conversation to the id that the conversation received. */
export function moveUnsent(kind, thread) {
  storeUnsent(kind, thread, readUnsent(kind, null));
  storeUnsent(kind, null, null);
}
