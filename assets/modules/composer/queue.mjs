/** Queue messages that are sent during an answer. They are sent after a complete answer, and return to the field otherwise. */
import { newOperation } from "../lib/actions.mjs";
import { toast } from "../lib/toast.mjs";
import { FILES_NOT_KEPT, joinTexts, keepUnsent, moveUnsent, readUnsent } from "./drafts.mjs";

const { useCallback, useLayoutEffect, useRef, useState } = window.React;

/**
 * @param {import("../lib/types.mjs").ComposerData} data
 * @param {{pending: object|null, problem: object|null, send: Function}} sending
 * @param {() => boolean} isBusy whether a new message must wait
 * @param {import("./message-box.mjs").MessageBox} box
 * @param {ReturnType<import("./drafts.mjs").useDrafts>} drafts
 */
export function useQueue(data, { pending, problem, send }, isBusy, box, drafts) {
  const [queued, setQueued] = useState(null);
  const thread = data.thread ?? null;
  const shownFor = useRef(thread);
  const takeQueued = useCallback((from) => {
    setQueued(null);
    keepUnsent("queue", from, null);
  }, []);

  useLayoutEffect(() => {
    const before = shownFor.current;
    const hasLeft = before !== null && before !== thread;
    shownFor.current = thread;
    if (queued === null) return;
    if (before !== thread && !hasLeft) moveUnsent("queue", thread); // the new conversation got its id
    const isRefused = problem !== null && pending === null;
    if (!hasLeft && !isRefused && (pending !== null || isBusy())) return;
    takeQueued(hasLeft ? before : thread);
    if (hasLeft) drafts.putBack({ ...queued, thread: before });
    else if (isRefused || data.rest !== "done") box.putBack(queued);
    else send(queued);
  }, [data, pending, problem, queued]);

  const queue = ({ text, files }) => {
    const waiting = { text: joinTexts(queued?.text, text), files: [...(queued?.files ?? []), ...files], op: queued?.op ?? newOperation() };
    setQueued(waiting);
    keepUnsent("queue", thread, { ...waiting, files: waiting.files.length });
  };
  const takeBack = () => {
    takeQueued(thread);
    box.putBack(queued);
    box.field.current.focus();
  };
  return { queued, queue, takeBack, comeBack: () => queued === null && setQueued(recoverQueue(thread, box)) };
}

/** Recover the queue after a reload of the tab. A message that lost its files returns to the field. */
function recoverQueue(thread, box) {
  const kept = readUnsent("queue", thread);
  if (kept === null) return null;
  if (kept.files === 0) return { ...kept, files: [] };
  keepUnsent("queue", thread, null);
  box.putBack({ text: kept.text, files: [] });
  toast(FILES_NOT_KEPT);
  return null;
}
