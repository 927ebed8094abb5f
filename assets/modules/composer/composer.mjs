/** The composer of messages. Typed text stays in this component and this tab until it is sent. */
import { button } from "../controls/buttons.mjs";
import { SUMMARISE_COMMAND, useCommands } from "../controls/commands.mjs";
import { useListener } from "../controls/listening.mjs";
import { Tip } from "../controls/tips.mjs";
import { listPromptCommands } from "../dialogs/prompts.mjs";
import { DemoHint } from "../settings/connecting.mjs";
import { ModelPicker } from "../settings/model-picker.mjs";
import { useKeptChoice } from "../settings/settings.mjs";
import { whenShown, useChosenThread } from "../state/chosen-thread.mjs";
import { useMoves } from "../state/moves.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { Chips } from "./attachments.mjs";
import { Notice, SendButton, StopButton } from "./buttons.mjs";
import { GraphInputs } from "./graph-inputs.mjs";
import { useEnter, MessageField, useMessageField } from "./message-field.mjs";
import { useMessages } from "./messages.mjs";
import { Meter, WindowNotice } from "./meter.mjs";
import { PasteNotice } from "./pasting.mjs";
import { countFiles } from "./queue.mjs";
import { useSlash } from "./slash.mjs";
import { useFilledText } from "./unsent-messages.mjs";

const { createElement: h, useEffect, useMemo, useRef } = window.React;

/** Of a field before its first data. */
const NOTHING = /** @type {import("../state/types.mjs").ComposerData} */ ({});
const NOT_READ = { version: undefined, running: false, asking: false, rest: null, fill: null, read_only: null };

/**
 * @typedef {{isComing: boolean, isLost: boolean, visit: number, moves: {open: number, failed: number}}} Coming  `isComing`:
 *   the data is not here; `isLost`: it could not be read; `visit` counts the choices of conversations; `moves` to other
 *   branches or places
 * @param {import("../state/types.mjs").ComposerData|undefined} shown
 * @returns {{data: import("../state/types.mjs").ComposerData, coming: Coming}} `data` keeps the model and the meter of the
 *   conversation that is still shown, so that nothing flickers
 */
function useChosenData(shown = NOTHING) {
  const { thread, isShown, isLost, visit } = useChosenThread();
  const isComing = !isShown && shown.opened !== thread;
  const data = useMemo(() => (isComing ? { ...shown, ...NOT_READ, thread } : shown), [shown, isComing, thread]);
  return { data, coming: { isComing, isLost: isComing && isLost, visit, moves: useMoves() } };
}

const CLOSED_BY_ESCAPE =
  ".modal.show, [role=menu], .meter-panel, .model-list, .slash-box, .command-question, .show-threads, .show-history";

const NOT_SHOWN = {
  text: _("This conversation is not shown yet: the server does not answer. Your text is kept."),
  canRetry: true,
};

/**
 * @param {{id: string, data?: import("../state/types.mjs").ComposerData, reply?: import("../state/types.mjs").Reply,
 *   setProps: Function}} props
 */
export function Composer(props) {
  const { data: serverData, coming, coming: { isComing } } = useChosenData(props.data);
  const data = { ...serverData, ...useKeptChoice(serverData.thread) };
  const thread = serverData.thread ?? null;
  const field = useMessageField(thread);
  const messages = useMessages(props, serverData, coming, field);
  const { sending, isSending, isRunning, isUnread, queue, submit } = messages;
  const slash = useSlash(field, sending.refuse, isComing, sending.problem);
  const onEnter = useEnter(thread, coming, { field, slash, ...messages });
  const isReadOnly = Boolean(data.read_only);
  useCommands("composer", () => listCommands(data, field, submit));
  useFilledText(data.fill, field);
  useFocusAtStart(field, thread);
  const [{ pending }, { attachments }] = [sending, field];
  const problem = coming.isLost ? NOT_SHOWN : findProblem(sending, field, slash, thread);
  const isStoppable = isRunning && !isReadOnly && pending?.type !== "stop";
  useEscapeToStop(isComing, isStoppable || isUnread, isUnread ? queue.editQueued : sending.stop);
  return h(
    "section",
    { id: props.id, className: "composer", "aria-label": _("Write a message") },
    h("div", { className: "composer-column" },
      h(SendProblem, { problem, onRetry: () => (pending?.type === "stop" && !isComing ? sending.stop() : onEnter()) }),
      queue.queued !== null && h(QueuedMessage, messages),
      h(WindowNotice, { meter: data.meter, typed: field.tokens }), h(CommandQuestion, { slash, onSend: messages.send }),
      h(PasteNotice, { pasted: field.pasting.pasted, maxChars: data.max_chars, onInsert: field.pasting.insertPasted }),
      !isReadOnly && h(Tip, { name: "field" }),
      !isReadOnly && h(GraphInputs, { data, onRun: submit }),
      attachments.files.length > 0
        && h(Chips, { files: attachments.files, onRemove: (file) => attachments.removeFiles([file]) }),
      h(MessageField,
        { field, slash, tools: h(FieldTools, { data, tokens: field.tokens }), readOnly: data.read_only, onSend: onEnter,
          onEditLast: queue.queued === null ? () => whenShown(editLastQuestion) : queue.editQueued },
        isRunning && !isReadOnly
          ? h(StopButton, { isStopping: pending?.type === "stop", onClick: sending.stop })
          : h(SendButton, { isSending, isEmpty: field.isEmpty || isReadOnly, onClick: isReadOnly ? null : onEnter }),
      ),
      h(ComposerFoot, { data, isEmpty: field.isEmpty }),
    ),
  );
}

/**
 * Return what became of the last request, or of attached files. It is nothing where a message that may not have arrived was
 * taken out of the field, or is of another conversation.
 */
function findProblem({ problem, pending, isLate }, { isEmpty, attachments }, { question }, thread) {
  const isElsewhere = isLate && (pending.thread !== thread || (pending.type === "send" && isEmpty));
  const ofRequest = question !== null || isElsewhere ? null : problem;
  return ofRequest ?? (attachments.problem && { text: attachments.problem });
}

const listCommands = (data, field, submit) => [
  {
    group: _("Actions"),
    name: SUMMARISE_COMMAND,
    word: "compact",
    hint: _("what to keep"),
    offReason: data.read_only ?? (data.thread ? null : _("There is nothing to summarise yet.")),
    run: (focus = "") => submit(`/compact ${focus}`.trim()),
  },
  ...(data.read_only ? [] : listPromptCommands(field.getText(), field.insertText)),
];

/** Focus the field of another conversation: not on touch screens, where the focus would open the keyboard over the page. */
function useFocusAtStart({ textarea }, thread) {
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) textarea.current.focus();
  }, [thread]);
}

/**
 * Stop the answer on Escape, or call off the message that waits for its files, unless Escape closes something or is pressed
 * in another field. A conversation that is not shown yet may have an answer.
 */
function useEscapeToStop(isComing, isStoppable, stop) {
  const latest = useRef(null);
  latest.current = () => isStoppable && stop();
  const onKeyDown = (event) => {
    const isElsewhere = event.target.closest?.("input, select, [contenteditable], textarea:not([data-testid=composer])");
    if (event.key !== "Escape" || event.shiftKey || event.defaultPrevented || isElsewhere) return;
    if (!document.querySelector(CLOSED_BY_ESCAPE)) whenShown(() => latest.current());
  };
  // Before a dialog or a sheet closes.
  useListener(document, "keydown", onKeyDown, { isActive: isComing || isStoppable, capture: true });
}

/** Edit the user's last message in its place. */
const editLastQuestion = () => [...document.querySelectorAll('article[data-role="user"] .edit-button')].at(-1)?.click();

function SendProblem({ problem, onRetry }) {
  if (!problem) return null;
  return h(
    Notice,
    { sign: "exclamation-circle", text: problem.text, className: "composer-problem", role: "alert" },
    problem.canRetry && button("quiet-button", _("Try again"), onRetry),
  );
}

/** Ask about a text that looks like a command, above the field, which keeps the text and the focus. */
function CommandQuestion({ slash: { question, withdraw }, onSend }) {
  const onKeyDown = (event) => event.key === "Escape" && !event.defaultPrevented && withdraw();
  useListener(document, "keydown", onKeyDown, { isActive: question !== null });
  if (question === null) return null;
  const className = "composer-queued composer-pasted command-question";
  return h(
    Notice,
    { sign: "exclamation-circle", text: question, className, role: "alert" },
    button("quiet-button", _("Send as text"), () => (withdraw(), onSend())),
  );
}

function QueuedMessage({ queue: { queued, editQueued, sendAfterStop }, sending, isAway, isRunning, isUnread }) {
  const files = countFiles(queued);
  const onSendNow = () => (sendAfterStop(), sending.stop());
  const text = [
    h("span", { key: "wait", className: "quiet" }, describeWait(isAway, isUnread)),
    [queued.text, files > 0 && formatCount(files, "file")].filter(Boolean).join(" · "),
  ];
  return h(
    Notice,
    { sign: "clock-history", text },
    isRunning && sending.pending === null &&
      button("quiet-button", _("Send now"), onSendNow, { title: _("Stop the answer, and send this") }),
    button("quiet-button", _("Edit"), editQueued),
  );
}

function describeWait(isAway, isUnread) {
  if (isAway) return _("Sent as soon as this is shown: ");
  return isUnread ? _("Sent as soon as its files are read: ") : _("Sent after this answer: ");
}

/** What belongs to the next message: its model, and how full the model's context is. */
function FieldTools({ data, tokens }) {
  return [
    !data.read_only && h(ModelPicker, { key: "model", data }),
    data.meter && h(Meter, { key: "meter", thread: data.thread, version: data.version, meter: data.meter, typed: tokens }),
  ];
}

/** The line under the field. The demo's hint begins with the model, which is therefore not named in the field. */
function ComposerFoot({ data, isEmpty }) {
  const limits = (!isEmpty && data.read_only) || data.limits; // the empty field says the first itself
  const line = (className, text, more = {}) => h("span", { className, ...more }, text);
  const hint = limits
    ? line("composer-limits", limits, { role: "status", "data-testid": "limits" })
    : data.demo
      ? h(DemoHint, { text: data.demo, canConnect: data.can_connect })
      : !data.read_only && line("composer-keys", _("Enter sends, Shift + Enter breaks the line"));
  return h("div", { className: "composer-foot" }, hint);
}
