/** Sending and stopping. A message is in one place at a time: in the field, in the queue, or under way. */
import { useRequest } from "../lib/request.mjs";
import { toast } from "../lib/toast.mjs";
import { takeChoice } from "../settings/settings.mjs";
import { FILES_NOT_KEPT, keepUnsent, readUnsent } from "./drafts.mjs";

const { useRef, useState } = window.React;

const REFUSED = "That did not work. Your text is kept.";
const NO_REPLY_TEXT = {
  send: "Not sent yet: the server does not answer. Your text is kept.",
  stop: "Not stopped yet: the server does not answer.",
};

/**
 * A message that the server refuses, or does not answer in time, comes back into the field. Sent again as it was, it keeps its
 * operation id, so that it cannot act twice.
 * @typedef {{type: "send"|"stop", text: string, files: object[], op: string, thread: string|null}} Sent
 * @param {import("../lib/types.mjs").ComposerData} data
 * @param {{reply?: import("../lib/types.mjs").Reply, act: import("../lib/types.mjs").Act}} server
 * @param {import("./message-box.mjs").MessageBox} box
 * @param {ReturnType<import("./drafts.mjs").useDrafts>} drafts
 */
export function useSending(data, { reply, act }, box, drafts) {
  const [problem, setProblem] = useState(null);
  const taken = useRef(null); // what was shown when the server took a message: as long as it is, the run of that is to come
  const thread = data.thread ?? null;
  const homeOf = (sent) => (sent.thread === thread ? box : drafts);

  const onReply = (sent, { ok, text }, wasLate) => {
    setProblem(ok ? null : { text: text ?? REFUSED, again: false });
    if (sent.type === "stop") return;
    if (!ok && !wasLate) homeOf(sent).putBack(sent);
    if (ok && wasLate) homeOf(sent).takeOut(sent);
    if (ok && sent.thread === null && thread === null) drafts.expectThread();
    taken.current = ok && sent.thread === thread ? data : null;
    if (readUnsent("sent", sent.thread)?.op === sent.op) keepUnsent("sent", sent.thread, null);
  };
  const onLate = (sent) => {
    setProblem({ text: NO_REPLY_TEXT[sent.type], again: true });
    if (sent.type === "send") homeOf(sent).putBack(sent);
  };
  const request = useRequest({ reply, onReply, onLate });

  const report = (sent, fields) => {
    setProblem(null);
    const op = act(sent.type, fields, sent.op);
    if (sent.type === "send") keepUnsent("sent", thread, { text: sent.text, op, files: sent.files.length });
    request.start({ ...sent, op, thread });
  };
  const send = ({ text, files, op }) => {
    const contents = files.map(({ name, data: content }) => ({ name, data: content }));
    report({ type: "send", text, files, op }, { text, ...(contents.length > 0 && { files: contents }), ...takeChoice(data.thread) });
  };
  const stop = () => report({ type: "stop", text: "", files: [], op: request.pending?.type === "stop" ? request.pending.op : undefined }, {});
  const endStop = () => {
    setProblem(null);
    request.end();
  };
  return { ...request, problem, hasRunToCome: taken.current === data, send, stop, endStop, repeat: () => repeatSent(request, thread, box, send) };
}

/** Send once more what came back, if it stands in the field as it was. @returns {boolean} */
function repeatSent({ pending, isLate }, thread, box, send) {
  const kept = readUnsent("sent", thread);
  const before = pending?.type === "send" ? isLate && pending : kept && { ...kept, files: [], thread };
  if (!before || before.thread !== thread) return false;
  const isAsBefore = box.takeOut(before);
  if (isAsBefore) send(before);
  else keepUnsent("sent", thread, null); // it is another message now
  return isAsBefore;
}

/** Put back what was under way when this tab was loaded anew. @param {string|null} op of the message that this page has sent */
export function comeBackSent(thread, op, box) {
  const kept = readUnsent("sent", thread);
  if (kept === null || kept.op === op) return;
  if (!box.read().startsWith(kept.text)) box.putBack({ text: kept.text, files: [] });
  if (kept.files === 0) return;
  keepUnsent("sent", thread, null);
  toast(FILES_NOT_KEPT);
}
