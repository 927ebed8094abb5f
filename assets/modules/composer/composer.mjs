/** The composer of messages. Typed text stays in this component and this tab until it is sent. */
import { listPromptCommands } from "../dialogs/prompts.mjs";
import { useActions } from "../lib/actions.mjs";
import { SUMMARISE_COMMAND, useCommands } from "../lib/commands.mjs";
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { useRunState } from "../lib/live-run.mjs";
import { isChangeUnseen } from "../lib/socket.mjs";
import { Tip } from "../lib/tips.mjs";
import { LANGUAGE, _ } from "../lib/words.mjs";
import { isOutageShown } from "../page/outage.mjs";
import { DemoHint } from "../settings/connecting.mjs";
import { ModelPicker } from "../settings/model-picker.mjs";
import { useKeptChoice } from "../settings/settings.mjs";
import { SendButton, StopButton } from "./buttons.mjs";
import { findInputProblem, GraphInputs } from "./graph-inputs.mjs";
import { MessageField, useMessageField } from "./message-field.mjs";
import { Meter, WindowNotice } from "./meter.mjs";
import { PasteNotice } from "./pasting.mjs";
import { useQueue } from "./queue.mjs";
import { recoverSent, useSending } from "./sending.mjs";
import { useSlash } from "./slash.mjs";
import { useDrafts, useFilledText } from "./unsent-messages.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef } = window.React;

const CLOSED_BY_ESCAPE = ".modal.show, [role=menu], .meter-panel, .model-list, .slash-box, .backdrop.shown";

const Chips = lazy(() => import("./attachments.lazy.mjs"), "Chips");

/**
 * @param {{id: string, data?: import("../lib/types.mjs").ComposerData, reply?: import("../lib/types.mjs").Reply,
 *   setProps: Function}} props
 */
export function Composer(props) {
  const { data: serverData = {} } = props;
  const data = { ...serverData, ...useKeptChoice(serverData.thread) };
  const thread = serverData.thread ?? null;
  const field = useMessageField(thread);
  const { sending, isSending, isRunning, queue, send, submit } = useMessages(props, serverData, field);
  const slash = useSlash(field, sending.refuse);
  const summarising = describeSummarising(thread, submit);
  useCommands("composer", () => [summarising, ...listPromptCommands(field.getText(), field.insertText)]);
  useFilledText(data.fill, field);
  useFocusAtStart(field, data.thread);
  const { pending } = sending;
  const { attachments } = field;
  useEscapeToStop(isRunning && pending?.type !== "stop", sending.stop);
  return h(
    "section",
    { id: props.id, className: "composer", "aria-label": _("Write a message") },
    h("div", { className: "composer-column" },
      h(SendProblem, { problem: sending.problem ?? (attachments.problem && { text: attachments.problem }),
        onRetry: () => (pending?.type === "stop" ? sending.stop() : send()) }),
      queue.queued !== null && h(QueuedMessage, { queued: queue.queued, onEdit: queue.editQueued,
        onSendNow: isRunning && pending === null ? () => (queue.sendAfterStop(), sending.stop()) : null }),
      h(WindowNotice, { meter: data.meter, typed: field.tokens }),
      h(PasteNotice, { pasted: field.pasting.pasted, maxChars: data.max_chars, onInsert: field.pasting.insertPasted }),
      h(Tip, { name: "field" }),
      h(GraphInputs, { data, onRun: submit }),
      attachments.files.length > 0
        && h(Chips, { files: attachments.files, onRemove: (file) => attachments.removeFiles([file]) }),
      h(MessageField,
        { field, slash, tools: h(FieldTools, { data, tokens: field.tokens }), onSend: () => slash.runText() || send(),
          onEditLast: queue.queued === null ? editLastQuestion : queue.editQueued },
        isRunning
          ? h(StopButton, { isStopping: pending?.type === "stop", onClick: sending.stop })
          : h(SendButton, { isSending, isEmpty: field.isEmpty, onClick: () => slash.runText() || send() }),
      ),
      h(ComposerFoot, { data }),
    ),
  );
}

const describeSummarising = (thread, submit) => ({
  group: _("Actions"),
  name: SUMMARISE_COMMAND,
  word: "compact",
  hint: _("what to keep"),
  offReason: thread === null ? _("There is nothing to summarise yet.") : null,
  run: (focus = "") => submit(`/compact ${focus}`.trim()),
});

/** Focus the field of another conversation: not on touch screens, where the focus would open the keyboard over the page. */
function useFocusAtStart({ textarea }, thread) {
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) textarea.current.focus();
  }, [thread]);
}

/** Stop the answer on Escape, unless that closes something or is pressed in another field. */
function useEscapeToStop(isActive, stop) {
  const latest = useRef(stop);
  latest.current = stop;
  useEffect(() => {
    if (!isActive) return undefined;
    const onKeyDown = (event) => {
      const isElsewhere = event.target.closest?.("input, select, [contenteditable], textarea:not([data-testid=composer])");
      if (
        event.key !== "Escape" ||
        event.shiftKey ||
        event.defaultPrevented ||
        event.isComposing ||
        isElsewhere ||
        document.querySelector(CLOSED_BY_ESCAPE)
      )
        return;
      latest.current();
    };
    document.addEventListener("keydown", onKeyDown, { capture: true }); // before a dialog or a sheet closes
    return () => document.removeEventListener("keydown", onKeyDown, { capture: true });
  }, [isActive]);
}

/** Edit the user's last message in its place. */
const editLastQuestion = () => [...document.querySelectorAll('article[data-role="user"] .edit-button')].at(-1)?.click();

/** Move a message between the field, the queue and the server. */
function useMessages(props, data, field) {
  const act = useActions(props);
  const thread = data.thread ?? null;
  const drafts = useDrafts(thread, field);
  const later = useRef(null); // adds to the queue
  const sending = useSending(data, { reply: props.reply, act }, field, drafts, (message) => later.current(message));
  const { pending, isLate, isRunExpected } = sending;
  const isSending = pending?.type === "send" && !isLate;
  const { isRunning, rest } = useRunState(data, isRunExpected);
  const isBusy = () => isSending || isRunning || isChangeUnseen(data.thread, data.version);
  const queue = useQueue(data, rest, sending, isBusy, field, drafts);
  later.current = (message) => queue.addToQueue(message, false);
  useLeavingRerun(queue.queued !== null, data.asking ? data.version : null, act);
  const isLoaded = data.version !== undefined;
  const isStopped = pending?.type === "stop" && !isRunning;
  useLayoutEffect(() => {
    if (isStopped) sending.finishStop();
  }, [isStopped]);
  useLayoutEffect(() => {
    if (!isLoaded) return;
    recoverSent(thread, pending?.request_id, field);
    queue.recover();
  }, [thread, isLoaded]);

  const send = () => {
    if (field.attachments.isReading) return;
    if (isBusy() && isOutageShown()) return; // the state of the run is unknown: the text stays in the field
    const problem = findExcess(field.getText(), data.max_chars) ?? findInputProblem(thread);
    if (problem !== null) return sending.refuse(problem);
    const isRepeated = sending.repeat();
    // Empty the field at once, not with the reply: a second press would send the same text as a second message.
    const message = field.takeMessage();
    if (message.text.trim() === "" && message.files.length === 0) return;
    if (isRepeated || isBusy()) queue.addToQueue(message, !isRunning && !isRepeated);
    else sending.send(message);
  };
  const submit = useSubmitting(sending, queue, { isBusy, isRunning });
  return { sending, isSending, isRunning, queue, send, submit };
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
function useSubmitting(sending, queue, { isBusy, isRunning }) {
  const submitted = useRef(null);
  return (text) => {
    if (isBusy() && submitted.current === text) return; // a second press
    if (sending.isLate && sending.pending.text === text && sending.repeat()) return;
    submitted.current = text;
    const message = { text, files: [] };
    if (isBusy()) queue.addToQueue(message, !isRunning);
    else sending.send(message);
  };
}

const findExcess = ({ length }, most) => (length > most ? describeExcess(length, most) : null);
const describeExcess = (length, most) =>
  _("This text has {length} characters. A message has at most {most}: shorten it, or attach it as a file.", {
    length: length.toLocaleString(LANGUAGE),
    most: most.toLocaleString(LANGUAGE),
  });

function SendProblem({ problem, onRetry }) {
  if (!problem) return null;
  return h(
    "div",
    { className: "composer-problem", role: "alert" },
    icon("exclamation-circle"),
    h("p", null, problem.text),
    problem.canRetry && h("button", { type: "button", className: "quiet-button", onClick: onRetry }, _("Try again")),
  );
}

function QueuedMessage({ queued: { text, files }, onEdit, onSendNow }) {
  return h(
    "div",
    { className: "composer-queued", role: "status" },
    icon("clock-history"),
    h(
      "p",
      null,
      h("span", { className: "quiet" }, _("Sent after this answer: ")),
      [text, files.length > 0 && formatCount(files.length, "file")].filter(Boolean).join(" · "),
    ),
    onSendNow &&
      h(
        "button",
        { type: "button", className: "quiet-button", title: _("Stop the answer, and send this"), onClick: onSendNow },
        _("Send now"),
      ),
    h("button", { type: "button", className: "quiet-button", onClick: onEdit }, _("Edit")),
  );
}

/** What belongs to the next message: its model, and how full the model's context is. */
function FieldTools({ data, tokens }) {
  return [
    h(ModelPicker, { key: "model", data }),
    data.meter && h(Meter, { key: "meter", thread: data.thread, version: data.version, meter: data.meter, typed: tokens }),
  ];
}

/** The line under the field. The demo's hint begins with the model, which is therefore not named in the field. */
function ComposerFoot({ data }) {
  const hint = data.limits
    ? h(LimitNotice, { text: data.limits })
    : data.demo
      ? h(DemoHint, { text: data.demo, canConnect: data.can_connect })
      : h(KeysHint);
  return h("div", { className: "composer-foot" }, hint);
}

const LimitNotice = ({ text }) => h("span", { className: "composer-limits", role: "status", "data-testid": "limits" }, text);

const KeysHint = () => h("span", { className: "composer-keys" }, _("Enter sends, Shift + Enter breaks the line"));
