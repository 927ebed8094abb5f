/**
 * Queue messages that are sent during an answer, or before their files are read. They are sent after a complete answer, and
 * return to the field otherwise, or where a file was refused.
 */
import { readThread } from "../browser/addresses.mjs";
import { joinTexts, moveUnsent, readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { showToast } from "../controls/toast.mjs";
import { createRequestId } from "../state/actions.mjs";
import { findProblem, listAccepted } from "./attachments.mjs";
import { FILES_NOT_KEPT, findLeftThread, isSameAddress, reportLeftMessage } from "./unsent-messages.mjs";

const { useLayoutEffect, useRef, useState } = window.React;

/**
 * @param {import("../state/types.mjs").ComposerData} data
 * @param {{isRunning: boolean, rest: string|null}} run in progress, and how the last one ended
 * @param {{pending: object|null, isLate: boolean, problem: object|null, returned: {current:
 *   import("./sending.mjs").Sent|null}, send: Function}} sending
 * @param {{isBusy: () => boolean, coming: import("./composer.mjs").Coming, field:
 *   import("./message-field.mjs").MessageFieldState, drafts: ReturnType<typeof import("./unsent-messages.mjs").useDrafts>,
 *   awaited: {current: import("./unsent-messages.mjs").AwaitedThread|null}}} page `isBusy`: whether a new message must wait
 */
export function useQueue(data, { isRunning, rest }, sending, { isBusy, coming, awaited, field, drafts }) {
  const [queued, setQueued] = useState(null);
  const thread = data.thread ?? null;
  const { visit, moves } = coming;
  const { isUnread, isFileRefused } = checkReadings(queued?.unread ?? []);
  const now = { thread, opened: data.opened ?? null, visit };
  const shown = useRef(now);
  const clearQueued = (from) => {
    setQueued(null);
    storeUnsent("queue", from, null);
  };
  useLayoutEffect(() => {
    const before = shown.current;
    const left = findLeftThread(before, now, awaited.current);
    shown.current = now;
    if (queued === null) return;
    if (left !== before.thread) moveUnsent("queue", left); // it has begun
    const { current: first } = sending.returned;
    if (thread === null && isSameAddress(before, now)) return clearQueued(left), putBack(); // it is gone
    if (left !== thread) return clearQueued(left), returnToDraft({ ...queued, thread: left }, drafts, first);
    const isRefused = isFileRefused || isReturned(queued, sending, coming);
    const isAtWork = isPendingFor(thread, sending) || isBusy() || awaited.current !== null; // else it could begin another
    if ((isAtWork || isUnread) && !isRefused) return void (isRunning && noteAnswer(queued, setQueued));
    clearQueued(thread);
    if (isRefused || (rest !== "done" && queued.isAfterEnd === false)) putBack();
    else sending.send({ ...queued, files: [...queued.files, ...listAccepted(queued.unread)] });
  }, [data, sending.pending, sending.problem, queued, isUnread, isFileRefused, visit, coming.isLost, moves]);

  const putBack = () => putBackBehind(sending.returned.current, { ...queued, thread }, field);
  const adding = buildAdding(queued, setQueued, thread, coming, awaited);
  const editQueued = () => {
    clearQueued(thread);
    putBack();
    field.textarea.current.focus();
  };
  const sendAfterStop = () => setQueued({ ...queued, isAfterEnd: true }); // also after an answer that was stopped
  const recover = () => queued === null && setQueued(recoverQueued(thread, field, isBusy));
  return { queued, isUnread, ...adding, editQueued, sendAfterStop, recover };
}

/** Build the functions that queue a message: `addToQueue` behind the one that waits, `addFirst` before it. */
function buildAdding(queued, setQueued, thread, { isComing, moves }, awaited) {
  const keep = (message) => {
    setQueued({ ...message, ...(moves.open > 0 && { failed: moves.failed }) }); // it is for where the move leads
    // It is for a conversation that may not have its address yet.
    const owner = thread ?? awaited.current?.thread ?? null;
    storeUnsent("queue", thread, { ...message, files: countFiles(message), unread: [], thread: owner });
  };
  const addToQueue = (added, isAfterEnd) => {
    const before = queued ?? (isComing ? readUnsent("queue", thread) : null); // that of before a reload, not read yet
    keep(joinMessages(before, added, isAfterEnd));
  };
  const addFirst = ({ text, files }) => keep(joinMessages({ text, files }, queued ?? { text: "", files: [] }, false));
  return { addToQueue, addFirst };
}

/** Let a message that was sent before its conversation was shown follow the answer in progress there. */
const noteAnswer = (queued, setQueued) =>
  queued.isAfterEnd === undefined && setQueued({ ...queued, isAfterEnd: false });

/** Make the message a draft of its conversation, which has been left. */
function returnToDraft(message, drafts, first) {
  putBackBehind(first, message, drafts);
  reportLeftMessage(message);
}

/** Put a message back behind the one that it waited for, if that came back before and is still there unchanged. */
function putBackBehind(first, message, target) {
  const isThere = first !== null && first.thread === message.thread && target.removeMessage(first);
  target.putBack(message);
  if (isThere) target.putBack(first);
}

const checkReadings = (readings) => ({
  isUnread: readings.some(({ accepted }) => accepted === null),
  isFileRefused: findProblem(readings) !== null,
});

/** @param {import("./message-field.mjs").Message} message @returns {number} those that are being read as well */
export const countFiles = ({ files, unread = [] }) => unread.reduce((sum, { count }) => sum + count, files.length);

/** Return whether a message must not be sent: its move, its reading, or the message before it has failed. */
const isReturned = ({ failed }, { problem, pending }, { isLost, moves }) =>
  isLost || moves.failed > (failed ?? moves.failed) || (problem !== null && pending === null);

/** Return whether a message is under way that those of a conversation wait for: none of another one that is late. */
const isPendingFor = (thread, { pending, isLate }) => pending !== null && !(isLate && pending.thread !== thread);

/**
 * Join a message to the one that waits. `isAfterEnd`: the stream has shown the end of the answer, and only the panels are
 * behind; undefined where the conversation is not shown yet.
 */
function joinMessages(before, { text, files, unread = [] }, isAfterEnd) {
  const { request_id = createRequestId(), isAfterEnd: isLast = isAfterEnd } = before ?? {};
  const kept = Array.isArray(before?.files) ? before.files : []; // of one that was stored there is a number
  const joined = { files: [...kept, ...files], unread: [...(before?.unread ?? []), ...unread] };
  return { text: joinTexts(before?.text, text), ...joined, request_id, isAfterEnd: isLast };
}

/** Recover the queue after a reload of the tab. A message that lost its files, or its conversation, returns to the field. */
function recoverQueued(thread, field, isBusy) {
  const ofAddress = readThread(location.pathname);
  if (thread === null && ofAddress !== null) returnQueued(ofAddress, field); // it may be gone
  // the page was left before it knew its conversation
  if (thread !== null && readUnsent("queue", null)?.thread === thread) moveUnsent("queue", thread);
  const stored = readUnsent("queue", thread);
  if (stored === null) return null;
  if (stored.files === 0) return { ...stored, files: [], unread: [], isAfterEnd: stored.isAfterEnd ?? !isBusy() };
  returnQueued(thread, field);
  showToast(FILES_NOT_KEPT);
  return null;
}

/** Return a stored message to the field. */
function returnQueued(thread, field) {
  const stored = readUnsent("queue", thread);
  if (stored === null) return;
  storeUnsent("queue", thread, null);
  field.putBack({ text: stored.text, files: [] });
}
