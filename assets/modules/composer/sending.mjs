/** Send messages and stop runs. A message is in one place at a time: in the field, in the queue, or in a request. */
import { readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { endTips } from "../controls/tips.mjs";
import { showToast } from "../controls/toast.mjs";
import { useRequest, reportLostRequest } from "../requests/tracked-request.mjs";
import { UploadRefusedError, uploadFiles } from "../requests/uploads.mjs";
import { takeChoice, takeModels } from "../settings/settings.mjs";
import { createRequestId } from "../state/actions.mjs";
import { getChosenThread, expectThread } from "../state/chosen-thread.mjs";
import { isRunTold } from "../state/live-run.mjs";
import { refreshPanels } from "../state/panels.mjs";
import { _ } from "../words/words.mjs";
import { dropReturnedInputs, getSentInputs, recoverInputs, returnInputs, takeInputs } from "./graph-inputs.mjs";
import { FILES_NOT_KEPT, reportLeftMessage } from "./unsent-messages.mjs";

const { useEffect, useRef, useState } = window.React;

const LEFT_TEXT = _("Not sent: you left the conversation before its files were there. The message is back in its field.");

/**
 * Wrap `act`: files are uploaded first, and the action then names them. It is never reported without them, nor in another
 * conversation than its own. The function returns the request id.
 */
function useFileSending(act, thread, { settle }) {
  const latest = useRef({ sent: null, thread });
  latest.current.thread = thread;

  const upload = async (sent, fields, request_id) => {
    const isReplaced = () => latest.current.sent !== sent; // the user has sent it again, or another message in its place
    const refuse = (text) => settle({ request_id, ok: false, text });
    try {
      const files = await uploadFiles(sent.files);
      if (isReplaced()) return;
      if (latest.current.thread === thread) act(sent.type, { ...fields, files }, request_id);
      else refuse(LEFT_TEXT);
    } catch (error) {
      if (isReplaced()) return;
      if (error instanceof UploadRefusedError) refuse(_("Not sent. {message}", { message: error.message }));
      else reportLostRequest();
    }
  };
  return (sent, fields) => {
    if (sent.type === "send") latest.current.sent = sent;
    if (sent.files.length === 0) return act(sent.type, fields, sent.request_id);
    const request_id = sent.request_id ?? createRequestId();
    upload(sent, fields, request_id);
    return request_id;
  };
}

const MAX_UNSEEN_RUN_MS = 1000;
const REFUSED_TEXT = _("That did not work. Your text is kept.");
const NO_REPLY_TEXT = {
  send: _("Not sent yet: the server does not answer. Your text is kept."),
  stop: _("Not stopped yet: the server does not answer."),
};

/**
 * A message that the server refuses, or does not answer in time, returns to the field. Sent again unchanged, it keeps its
 * request id and therefore has no second effect.
 * @typedef {{type: "send"|"stop", text: string, files: object[], request_id: string, thread: string|null, data: object,
 *   visit: number}} Sent
 * @param {import("../state/types.mjs").ComposerData} data
 * @param {{reply?: import("../state/types.mjs").Reply, act: import("../state/types.mjs").Act}} server
 * @param {import("./message-field.mjs").MessageFieldState} field
 * @param {ReturnType<typeof import("./unsent-messages.mjs").useDrafts>} drafts
 * @param {{current: import("./unsent-messages.mjs").AwaitedThread|null}} awaited
 * @param {(message: Sent) => void} onWait with a message that is to follow the answer in progress
 */
export function useSending(data, { reply, act }, field, drafts, awaited, onWait) {
  const [problem, setProblem] = useState(null);
  const accepted = useRef(null); // the message that was accepted last: until newer data comes, its run is unknown
  const thread = data.thread ?? null;
  const { returned, giveBack, takeBack } = useReturning(thread, field, drafts);
  const onReply = (sent, { ok, text, waits = false }, wasLate) => {
    setProblem(ok || waits ? null : { text: text ?? REFUSED_TEXT, canRetry: false });
    if (sent.type === "stop") return;
    if (ok) endTips(["field"]); // it told how to write one
    followBegun(awaited, sent, { isRefused: !ok });
    if (waits && !wasLate && sent.thread === thread) onWait(sent);
    else if (!ok && !wasLate) giveBack(sent, waits);
    if (ok && wasLate) takeBack(sent);
    accepted.current = (ok || waits) && sent.thread === thread ? sent : null;
    if (readUnsent("sent", sent.thread)?.request_id === sent.request_id) storeUnsent("sent", sent.thread, null);
  };
  const onLate = (sent) => {
    setProblem({ text: NO_REPLY_TEXT[sent.type], canRetry: true });
    if (sent.type !== "send") return;
    followBegun(awaited, sent, { isLate: true });
    giveBack(sent);
  };
  const request = useRequest({ reply, onReply, onLate });
  const actWithFiles = useFileSending(act, thread, request);
  const startRequest = (sent) => {
    setProblem(null);
    returned.current = null;
    const request_id = actWithFiles(sent, sent.type === "send" ? { text: sent.text, ...takeChoices(thread) } : {});
    if (sent.type === "send") rememberSent(sent, thread, request_id, awaited);
    request.start({ ...sent, request_id, thread, data, visit: getChosenThread().visit });
  };
  const send = ({ text, files, request_id }) => startRequest({ type: "send", text, files, request_id });
  const stop = () => startRequest(buildStop(request.pending));
  const refuse = (text) => setProblem({ text, canRetry: false });
  const isRunExpected = useRunExpectation(accepted.current, data);
  const repeat = () => repeatSent(request, thread, field, send);
  const forgetProblem = () => setProblem(null);
  const finishStop = () => (forgetProblem(), request.end());
  return { ...request, problem, returned, isRunExpected, send, stop, refuse, finishStop, repeat, forgetProblem };
}

/**
 * Give messages back to the field, or to the draft of the conversation that has been left. `returned` is the last one: a
 * message that waited for it comes back behind it.
 */
function useReturning(thread, field, drafts) {
  const returned = useRef(null);
  const pickTarget = (sent) => (sent.thread === thread ? field : drafts);
  const giveBack = (sent, isLeft = false) => { // `isLeft`: the person must be told where it is
    returned.current = sent;
    pickTarget(sent).putBack(sent);
    returnInputs(sent.thread);
    if (isLeft) reportLeftMessage(sent);
  };
  const takeBack = (sent) => { // it has arrived
    returned.current = null;
    pickTarget(sent).removeMessage(sent);
    dropReturnedInputs(sent.thread);
  };
  return { returned, giveBack, takeBack };
}

const takeChoices = (thread) => ({ ...takeChoice(thread), ...takeModels(thread), ...takeInputs(thread) });

/** Build the request to stop an answer, or the same request once more. */
const buildStop = (pending) => ({
  type: "stop", text: "", files: [], request_id: pending?.type === "stop" ? pending.request_id : undefined,
});

/** Note what became of the message that begins the awaited conversation, whose id is the message's request id. */
function followBegun(awaited, { request_id, thread }, { isRefused = false, isLate = false }) {
  if (isRefused && thread === null) expectThread(null);
  if (awaited.current?.thread === request_id) awaited.current = isRefused ? null : { thread: request_id, isLate };
}

/**
 * Read the panels if the run of an accepted message is not seen soon: the socket, which shows it, may be closed. Whoever has
 * left its conversation for a new one expects no run there, also before new data has come.
 */
function useRunExpectation(accepted, data) {
  const isRunExpected = accepted?.data === data && accepted.visit === getChosenThread().visit;
  useEffect(() => {
    if (!isRunExpected) return undefined;
    const isTold = () => isRunTold(accepted.thread ?? accepted.request_id, data.version);
    const timer = setTimeout(() => isTold() || refreshPanels(), MAX_UNSEEN_RUN_MS);
    return () => clearTimeout(timer);
  }, [isRunExpected]);
  return isRunExpected;
}

function rememberSent({ text, files }, thread, request_id, awaited) {
  storeUnsent("sent", thread, { text, request_id, files: files.length, inputs: getSentInputs(thread) });
  if (thread !== null) return;
  awaited.current = { thread: request_id, isLate: false };
  expectThread(request_id);
}

/** Send a returned message again, if the field begins with it unchanged. @returns {boolean} whether it was sent */
function repeatSent({ pending, isLate }, thread, field, send) {
  const stored = readUnsent("sent", thread);
  const lastSent = pending?.type === "send" ? isLate && pending : stored && { ...stored, files: [], thread };
  if (!lastSent || lastSent.thread !== thread) return false;
  const isUnchanged = field.removeMessage(lastSent);
  if (isUnchanged) send(lastSent);
  else storeUnsent("sent", thread, null); // the user edited it: it is a new message
  return isUnchanged;
}

/**
 * After a reload of the tab, return a message without a reply to the field.
 * @param {string|null} request_id of this page's own request
 */
export function recoverSent(thread, request_id, field) {
  const stored = readUnsent("sent", thread);
  if (stored === null || stored.request_id === request_id) return;
  if (!field.getText().startsWith(stored.text)) {
    field.putBack({ text: stored.text, files: [] });
    recoverInputs(thread, stored.inputs);
  }
  if (stored.files === 0) return;
  storeUnsent("sent", thread, null);
  showToast(FILES_NOT_KEPT);
}
