/**
 * Queue messages that are sent during an answer. They are sent after a complete answer, and return to the field otherwise.
 */
import { createRequestId } from "../lib/actions.mjs";
import { showToast } from "../lib/toast.mjs";
import { FILES_NOT_KEPT, joinTexts, moveUnsent, readUnsent, storeUnsent } from "./unsent-messages.mjs";

const { useCallback, useLayoutEffect, useRef, useState } = window.React;

/**
 * @param {import("../lib/types.mjs").ComposerData} data
 * @param {string|null} rest how the last run ended
 * @param {{pending: object|null, problem: object|null, getAwaitedThread: () => string|null, send: Function}} sending
 * @param {() => boolean} isBusy whether a new message must wait
 * @param {import("./message-field.mjs").MessageFieldState} field
 * @param {ReturnType<import("./unsent-messages.mjs").useDrafts>} drafts
 */
export function useQueue(data, rest, { pending, problem, getAwaitedThread, send }, isBusy, field, drafts) {
  const [queued, setQueued] = useState(null);
  const thread = data.thread ?? null;
  const shownThread = useRef(thread);
  const clearQueued = useCallback((from) => {
    setQueued(null);
    storeUnsent("queue", from, null);
  }, []);
  useLayoutEffect(() => {
    const previousThread = shownThread.current;
    const hasChangedThread = previousThread !== null && previousThread !== thread;
    shownThread.current = thread;
    if (queued === null) return;
    if (previousThread !== thread && !hasChangedThread) moveUnsent("queue", thread); // the new conversation got its id
    const isRefused = problem !== null && pending === null;
    const isAtWork = pending !== null || isBusy() || getAwaitedThread() !== null;
    if (!hasChangedThread && !isRefused && isAtWork) return; // else it could begin another
    clearQueued(hasChangedThread ? previousThread : thread);
    if (hasChangedThread) drafts.putBack({ ...queued, thread: previousThread });
    else if (isRefused || (rest !== "done" && !queued.isAfterEnd)) field.putBack(queued);
    else send(queued);
  }, [data, pending, problem, queued]);

  /** `isAfterEnd`: the stream has shown the end of the answer, and only the panels are behind. */
  const addToQueue = ({ text, files }, isAfterEnd) => {
    const all = { text: joinTexts(queued?.text, text), files: [...(queued?.files ?? []), ...files] };
    const { request_id = createRequestId(), isAfterEnd: isLast = isAfterEnd } = queued ?? {};
    const message = { ...all, request_id, isAfterEnd: isLast };
    setQueued(message);
    storeUnsent("queue", thread, { ...message, files: message.files.length, thread: thread ?? getAwaitedThread() });
  };
  const editQueued = () => {
    clearQueued(thread);
    field.putBack(queued);
    field.textarea.current.focus();
  };
  const sendAfterStop = () => setQueued({ ...queued, isAfterEnd: true }); // also after an answer that was stopped
  const recover = () => queued === null && setQueued(recoverQueued(thread, field, isBusy));
  return { queued, addToQueue, editQueued, sendAfterStop, recover };
}

/**
 * Recover the queue after a reload of the tab, and a message that was sent before this module was there (early-field.js).
 * A message that lost its files, or its conversation, returns to the field.
 */
function recoverQueued(thread, field, isBusy) {
  if (thread === null) returnQueued(readThreadOfAddress(), field);
  // the page was left before it knew its conversation
  else if (readUnsent("queue", null)?.thread === thread) moveUnsent("queue", thread);
  const stored = readUnsent("queue", thread);
  if (stored === null) return null;
  if (stored.files === 0) return { ...stored, files: [], isAfterEnd: stored.isAfterEnd ?? !isBusy() };
  storeUnsent("queue", thread, null);
  field.putBack({ text: stored.text, files: [] });
  showToast(FILES_NOT_KEPT);
  return null;
}

/** @returns {string|null} the conversation that the address names; it may be gone */
function readThreadOfAddress() {
  try {
    return location.pathname.startsWith("/t/") ? decodeURIComponent(location.pathname.slice(3)) : null;
  } catch {
    return null;
  }
}

function returnQueued(thread, field) {
  const stored = thread === null ? null : readUnsent("queue", thread);
  if (stored === null) return;
  storeUnsent("queue", thread, null);
  field.putBack({ text: stored.text, files: [] });
}
