/** The way of a message between the field, the queue and the server. */
import { useListener } from "../controls/listening.mjs";
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
  const isWaiting = queue.queued !== null && isLoaded;
  useEffect(() => { // a message follows the question in progress, the last of a rerun; the data may not know of one yet
    if (isWaiting) act("leave-rerun");
  }, [isWaiting, data.asking ? data.version : null]);
  const isStopped = pending?.type === "stop" && !isRunning;
  useLayoutEffect(() => {
    if (isStopped) sending.finishStop();
  }, [isStopped]);
  useLayoutEffect(() => {
    if (isLoaded) queue.recover();
  }, [thread, isLoaded]);
  useLayoutEffect(() => void (awaited.current = null), [thread, coming.visit]); // after its draft and its queue are kept
  // The browser asks before the page is left with a message that the server does not have, unless the session has ended.
  const onLeave = (event) => isLeaving() || event.preventDefault();
  useListener(window, "beforeunload", onLeave, { isActive: queue.queued !== null || isSending });
  const actions = useSendActions({ data, field, sending, queue, coming, isBusy, isRunning });
  const isUnread = queue.isUnread && !isRunning; // then nothing but its files keeps the queued message
  return { sending, isSending, isRunning, isAway, isUnread, queue, drafts, ...actions };
}

/** Return the functions that send: the message in the field, or a text beside it, which stays. */
function useSendActions({ data, field, sending, queue, coming, isBusy, isRunning }) {
  const submitted = useRef(null);
  const post = (message, mustWait) => {
    if (!mustWait) return sending.send(message);
    sending.forgetProblem(); // that of another message would send this one back
    queue.addToQueue(message, coming.isComing ? undefined : !isRunning);
  };
  const send = () => {
    if (isBusy() && isOutageShown()) return; // the state of the run is unknown: the text stays in the field
    const problem = findExcess(field.getText(), data.max_chars) ?? findInputProblem(data.thread ?? null);
    if (problem !== null) return sending.refuse(problem);
    const isRepeated = !coming.isComing && sending.repeat();
    // Empty the field at once, not with the reply: a second press would send the same text as a second message.
    const message = field.takeMessage();
    if (message.text.trim() === "" && message.files.length + message.unread.length === 0) return;
    if (isRepeated) queue.addToQueue(message, false);
    else post(message, isBusy() || message.unread.length > 0 || queue.queued !== null);
  };
  const submit = (text) => {
    if (isBusy() && submitted.current === text) return; // a second press
    if (sending.isLate && sending.pending.text === text && sending.repeat()) return;
    submitted.current = text;
    post({ text, files: [] }, isBusy());
  };
  return { send, submit };
}

/** Say why a text is too long; null where it is not. */
function findExcess({ length }, most) {
  if (!(length > most)) return null;
  const [chars, mostChars] = [length, most].map((number) => number.toLocaleString(LANGUAGE));
  return _("This text has {length} characters. A message has at most {most}: shorten it, or attach it as a file.", {
    length: chars, most: mostChars,
  });
}
