/** The composer of messages. Typed text stays in this component and this tab until it is sent. */
import { useActions } from "../lib/actions.mjs";
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { isStreamAhead } from "../lib/socket.mjs";
import { isOutageShown } from "../page/outage.mjs";
import { useKeptChoice } from "../settings/settings.mjs";
import { readPastedFiles } from "./attaching.mjs";
import { AttachButton, SendButton, StopButton } from "./buttons.mjs";
import { useMessageBox } from "./message-box.mjs";
import { Meter } from "./meter.mjs";
import { useQueue } from "./queue.mjs";
import { recoverSent, useSending } from "./sending.mjs";
import { useDrafts, useFilledText } from "./unsent-messages.mjs";

const { createElement: h, useEffect, useLayoutEffect } = window.React;

const Chips = lazy(() => import("./attachments.lazy.mjs"), "Chips");

/** @param {{id: string, data?: import("../lib/types.mjs").ComposerData, reply?: import("../lib/types.mjs").Reply, setProps: Function}} props */
export function Composer(props) {
  const { data: serverData = {} } = props;
  const data = { ...serverData, ...useKeptChoice(serverData.thread) };
  const thread = serverData.thread ?? null;
  const box = useMessageBox(thread);
  const { sending, isSending, queue, send } = useMessages(props, serverData, box);
  useFilledText(data.fill, box);
  useEffect(() => {
    // Not on touch screens, where the focus would open the keyboard over the page.
    if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) box.field.current.focus();
  }, [data.thread]);

  const { pending } = sending;
  const again = () => (pending?.type === "stop" ? sending.stop() : send());
  return h(
    "section",
    { id: props.id, className: "composer", "aria-label": "Write a message" },
    h(
      "div",
      { className: "composer-column" },
      h(SendProblem, { problem: sending.problem ?? (box.attached.problem && { text: box.attached.problem }), again }),
      queue.queued !== null && h(QueuedMessage, { queued: queue.queued, onEdit: queue.takeBack }),
      box.isCommand && h("p", { className: "quiet", role: "status" }, h("code", null, "/compact"), " summarises the conversation; after it you can say what to keep."),
      box.attached.files.length > 0 && h(Chips, { files: box.attached.files, onRemove: (file) => box.attached.drop([file]) }),
      h(
        Box,
        { box, onSend: send },
        data.running
          ? h(StopButton, { isStopping: pending?.type === "stop", onClick: sending.stop })
          : h(SendButton, { isSending, isEmpty: box.isEmpty, onClick: send }),
      ),
      h(ComposerFoot, { data, tokens: box.tokens }),
    ),
  );
}

/** Move a message between the field, the queue and the server. */
function useMessages(props, data, box) {
  const act = useActions(props);
  const thread = data.thread ?? null;
  const drafts = useDrafts(thread, box);
  const sending = useSending(data, { reply: props.reply, act }, box, drafts);
  const { pending, isLate, isRunExpected } = sending;
  const isSending = pending?.type === "send" && !isLate;
  const isBusy = () => isSending || isRunExpected || data.running || isStreamAhead(data.thread, data.version);
  const queue = useQueue(data, sending, isBusy, box, drafts);
  const isLoaded = data.version !== undefined;
  const isStopped = pending?.type === "stop" && !data.running;
  useLayoutEffect(() => {
    if (isStopped) sending.endStop();
  }, [isStopped]);
  useLayoutEffect(() => {
    if (!isLoaded) return;
    recoverSent(thread, pending?.op, box);
    queue.comeBack();
  }, [thread, isLoaded]);

  const send = () => {
    if (box.attached.isReading) return;
    if (data.running && isOutageShown()) return; // the state of the run is unknown: the text stays in the field
    const isRepeated = sending.repeat();
    // Empty the field at once, not with the reply: a second press would send the same text as a second message.
    const message = box.takeAll();
    if (message.text.trim() === "" && message.files.length === 0) return;
    if (isRepeated || isBusy()) queue.queue(message);
    else sending.send(message);
  };
  return { sending, isSending, queue, send };
}

function SendProblem({ problem, again }) {
  if (!problem) return null;
  return h(
    "div",
    { className: "composer-problem", role: "alert" },
    icon("exclamation-circle"),
    h("p", null, problem.text),
    problem.again && h("button", { type: "button", className: "quiet-button", onClick: again }, "Try again"),
  );
}

function QueuedMessage({ queued: { text, files }, onEdit }) {
  return h(
    "div",
    { className: "composer-queued", role: "status" },
    icon("clock-history"),
    h("p", null, h("span", { className: "quiet" }, "Sent after this answer: "), [text, files.length > 0 && formatCount(files.length, "file")].filter(Boolean).join(" · ")),
    h("button", { type: "button", className: "quiet-button", onClick: onEdit }, "Edit"),
  );
}

function Box({ box, onSend, children }) {
  const { field, attached } = box;
  const onKeyDown = (event) => {
    // keyCode 229: Safari ends a composition before the keydown of the Enter that chose the word.
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isComposing) return;
    event.preventDefault();
    onSend();
  };
  const onPaste = (event) => {
    const files = readPastedFiles(event);
    if (files.length === 0) return;
    event.preventDefault();
    attached.take(files);
  };
  return h(
    "div",
    { className: "composer-box", onClick: (event) => event.target === event.currentTarget && field.current.focus() },
    h(AttachButton, { onChoose: attached.take }),
    h("textarea", {
      ref: field,
      className: "composer-field",
      "data-testid": "composer",
      "aria-label": "Message",
      placeholder: "Write a message",
      rows: 1,
      onInput: box.onInput,
      onKeyDown,
      onPaste,
    }),
    children,
  );
}

function ComposerFoot({ data, tokens }) {
  return h(
    "p",
    { className: "composer-foot" },
    h("span", { className: "composer-demo" }, data.demo ?? h(KeysHint)),
    data.meter && h(Meter, { thread: data.thread, version: data.version, meter: data.meter, typed: tokens }),
    h("span", { className: "composer-model" }, data.model),
  );
}

const KeysHint = () => h("span", { className: "composer-keys" }, "Enter sends, Shift + Enter breaks the line", h("span", { className: "composer-more" }, ", Ctrl + K finds the rest"));
