/** The way of a message between the field, the queue and the server. */
import { isOutageShown } from "../page/outage.mjs";
import { isLeaving } from "../requests/session.mjs";
import { useActions } from "../state/actions.mjs";
import { useRunState } from "../state/live-run.mjs";
import { isChangeUnseen } from "../state/seen-version.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";
import { findInputProblem } from "./graph-inputs.mjs";
import { useQueue } from "./queue.mjs";
import { recoverSent, useSending } from "./sending.mjs";
import { useDrafts } from "./unsent-messages.mjs";

const { useEffect, useLayoutEffect, useRef } = window.React;

/**
 * @param {{id: string, data?: import("../state/types.mjs").ComposerData, reply?: import("../state/types.mjs").Reply}} props
 * @param {import("../state/types.mjs").ComposerData} data of the chosen conversation
 * @param {import("./composer.mjs").Coming} coming
 * @param {import("./message-field.mjs").MessageFieldState} field
 */
export function useMessages(props, data, coming, field) {
  const act = useActions(props);
  const thread = data.thread ?? null;
  const awaited = useRef(null); // the conversation that has begun, until it is shown
  const drafts = useDrafts(data, field, coming.visit, awaited);
  const later = useRef(null); // adds to the queue, before what waits there
  const server = { reply: props.reply, act };
  const sending = useSending(data, server, field, drafts, awaited, (message) => later.current(message));
  const { pending, isLate, isRunExpected } = sending;
  const isSending = pending?.type === "send" && !isLate;
  const run = useRunState(data, isRunExpected);
  const { isRunning } = run;
  const isAway = coming.isComing || coming.moves.open > 0;
  const isBusy = () => isAway || isSending || isRunning || isChangeUnseen(data.thread, data.version);
  const isLoaded = data.version !== undefined;
  useLayoutEffect(() => {
    if (isLoaded) recoverSent(thread, pending?.request_id, field); // before the queue is sent
  }, [thread, isLoaded]);
  const queue = useQueue(data, run, sending, { isBusy, coming, awaited, field, drafts });
  later.current = queue.addFirst;
  useLeavingRerun(queue.queued !== null && isLoaded, data.asking ? data.version : null, act);
  const isStopped = pending?.type === "stop" && !isRunning;
  useLayoutEffect(() => {
    if (isStopped) sending.finishStop();
  }, [isStopped]);
  useLayoutEffect(() => {
    if (isLoaded) queue.recover();
  }, [thread, isLoaded]);
  useLayoutEffect(() => void (awaited.current = null), [thread, coming.visit]); // after its draft and its queue are kept
  useLeaveQuestion(queue.queued !== null || isSending);
  const ways = { data, field, sending, queue, coming, isBusy, isRunning };
  const isUnread = queue.isUnread && !isRunning; // then nothing but its files keeps the queued message
  const actions = { send: buildSend(ways), submit: useSubmitting(ways) };
  return { sending, isSending, isRunning, isAway, isUnread, queue, drafts, ...actions };
}

/**
 * Let the browser ask before the page is left with a message that the server does not have. The end of the session is not
 * held up.
 */
function useLeaveQuestion(isUnsent) {
  useLayoutEffect(() => {
    if (!isUnsent) return undefined;
    const onLeave = (event) => isLeaving() || event.preventDefault();
    addEventListener("beforeunload", onLeave);
    return () => removeEventListener("beforeunload", onLeave);
  }, [isUnsent]);
}

/** Return a function that sends the message in the field. */
function buildSend({ data, field, sending, queue, coming, isBusy, isRunning }) {
  return () => {
    if (isBusy() && isOutageShown()) return; // the state of the run is unknown: the text stays in the field
    const problem = findExcess(field.getText(), data.max_chars) ?? findInputProblem(data.thread ?? null);
    if (problem !== null) return sending.refuse(problem);
    const isRepeated = !coming.isComing && sending.repeat();
    // Empty the field at once, not with the reply: a second press would send the same text as a second message.
    const message = field.takeMessage();
    if (message.text.trim() === "" && message.files.length + message.unread.length === 0) return;
    const isWaiting = message.unread.length > 0 || queue.queued !== null;
    if (isRepeated) queue.addToQueue(message, false);
    else if (isBusy() || isWaiting) addToQueue(message, { sending, queue, coming, isRunning });
    else sending.send(message);
  };
}

function addToQueue(message, { sending, queue, coming, isRunning }) {
  sending.forgetProblem(); // that of another message would send this one back
  queue.addToQueue(message, coming.isComing ? undefined : !isRunning);
}

/**
 * Let the question in progress be the last one of a rerun: a message waits to follow it. The data may not know of one yet.
 */
function useLeavingRerun(isWaiting, askingVersion, act) {
  useEffect(() => {
    if (isWaiting) act("leave-rerun");
  }, [isWaiting, askingVersion]);
}

/** Return a function that sends a text beside the one in the field, which stays. */
function useSubmitting({ sending, queue, coming, isBusy, isRunning }) {
  const submitted = useRef(null);
  return (text) => {
    if (isBusy() && submitted.current === text) return; // a second press
    if (sending.isLate && sending.pending.text === text && sending.repeat()) return;
    submitted.current = text;
    const message = { text, files: [] };
    if (isBusy()) addToQueue(message, { sending, queue, coming, isRunning });
    else sending.send(message);
  };
}

const findExcess = ({ length }, most) => (length > most ? describeExcess(length, most) : null);
const describeExcess = (length, most) =>
  _("This text has {length} characters. A message has at most {most}: shorten it, or attach it as a file.", {
    length: length.toLocaleString(LANGUAGE),
    most: most.toLocaleString(LANGUAGE),
  });
