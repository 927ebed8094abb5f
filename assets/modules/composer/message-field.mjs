/**
 * The message field: the field for the text and its attachments. `useMessageField` keeps the unsent message, `MessageField`
 * shows it.
 */
import { buildPath } from "../browser/addresses.mjs";
import { joinTexts, storeUnsent, readUnsent } from "../browser/unsent-storage.mjs";
import { getTipId, useTip } from "../controls/tips.mjs";
import { whenShown } from "../state/chosen-thread.mjs";
import { goTo } from "../state/panels.mjs";
import { _ } from "../words/words.mjs";
import { useAttachments } from "./attachments.mjs";
import { AttachButton, CommandsButton } from "./buttons.mjs";
import { estimateTokens } from "./meter.mjs";
import { usePasting } from "./pasting.mjs";
import { isSlashText, SlashList } from "./slash.mjs";

const { createElement: h, useId, useMemo, useRef, useState } = window.React;

/**
 * Wrap what Enter does. While the conversation is coming, a command waits for it, and a message is queued.
 * @param {string|null} thread
 * @param {import("./composer.mjs").Coming} coming
 * @param {{field: MessageFieldState, drafts: ReturnType<typeof import("./unsent-messages.mjs").useDrafts>,
 *   slash: ReturnType<typeof import("./slash.mjs").useSlash>, send: () => void, submit: (text: string) => void}} parts
 */
export function useEnter(thread, { isComing, isLost }, parts) {
  const latest = useRef({});
  latest.current = { ...parts, thread };
  const { field, slash, send } = parts;
  const holdCommand = () => {
    const command = { text: field.getText(), files: [], thread };
    field.changeText("");
    storeUnsent("command", thread, joinTexts(readUnsent("command", thread), command.text)); // it is a draft after a reload
    const run = () => {
      storeUnsent("command", thread, null);
      latest.current.slash.runHeld(command.text, latest.current.submit);
    };
    const returnCommand = () => {
      storeUnsent("command", thread, null);
      const { drafts, ...now } = latest.current;
      (now.thread === thread ? now.field : drafts).putBack(command);
    };
    whenShown(run, returnCommand);
  };
  return () => {
    if (!isComing) return void (slash.runText() || send());
    if (isLost) goTo(buildPath(thread));
    if (isSlashText(field.getText())) holdCommand();
    else if (isReturned(field.getText(), thread)) whenShown(() => latest.current.send());
    else send();
  };
}

/** Return whether a text begins with a sent message without a reply, which is to be sent as the same message. */
function isReturned(text, thread) {
  const sent = readUnsent("sent", thread);
  return sent !== null && text.startsWith(sent.text);
}

/**
 * @typedef {{text: string, files: import("./attachments.mjs").Files, unread?: import("./attachments.mjs").Reading[]}}
 *   Message  `unread`: files of it that were still being read when it left the field
 * @typedef {ReturnType<typeof useMessageField>} MessageFieldState
 * @param {string|null} thread whose draft is stored
 */
export function useMessageField(thread) {
  /** @type {{current: HTMLTextAreaElement}} */
  const textarea = useRef(null);
  const shownThread = useRef(thread);
  shownThread.current = thread;
  const attachments = useAttachments(thread);
  const [isBlank, setBlank] = useState(true);
  const [tokens, setTokens] = useState(0);
  const [slashText, setSlashText] = useState(/** @type {string|null} */ (null));
  const [isFocused, setFocused] = useState(false);
  const show = () => {
    const { value } = textarea.current;
    setBlank(value.trim() === "");
    setTokens(estimateTokens(value));
    setFocused(document.activeElement === textarea.current); // a dialog returns the focus without an event for React
    setSlashText(isSlashText(value) ? value : null);
  };
  const actions = useMemo(() => {
    const ofText = buildTextActions(textarea, shownThread, show);
    return { ...ofText, ...buildMessageActions(ofText, attachments) };
  }, []);
  const isEmpty = isBlank && attachments.files.length === 0 && !attachments.isReading;
  const pasting = usePasting(attachments, actions.insertText);
  return { textarea, attachments, pasting, isEmpty, tokens, slashText, isFocused, setFocused, ...actions };
}

/** Build the functions that change the text. They store it as the draft. */
function buildTextActions(textarea, shownThread, show) {
  const getText = () => textarea.current.value;
  const onInput = () => {
    show();
    storeUnsent("draft", shownThread.current, getText());
  };
  const setText = (text) => {
    textarea.current.value = text;
    show();
  };
  const changeText = (text) => {
    textarea.current.value = text;
    onInput();
  };
  const insertText = (text) => {
    const { current: area } = textarea;
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.focus();
    onInput();
  };
  return { getText, onInput, setText, changeText, insertText };
}

/** Build the functions that move messages into and out of the field. */
const buildMessageActions = ({ getText, changeText }, attachments) => ({
  takeMessage: () => {
    const message = { text: getText(), files: attachments.files, unread: attachments.takeReadings() };
    changeText("");
    attachments.removeFiles(message.files);
    return message;
  },
  /** @param {Message} message @returns {boolean} false if the field does not begin with the unchanged message */
  removeMessage: ({ text, files }) => {
    if (!getText().startsWith(text)) return false;
    changeText(getText().slice(text.length).trimStart());
    attachments.removeFiles(files);
    return true;
  },
  /** @param {Message} message */
  putBack: ({ text, files, unread = [] }) => {
    changeText(joinTexts(text, getText()));
    attachments.prependFiles(files);
    attachments.returnReadings(unread);
  },
});

/**
 * The field, and in its foot what belongs to a message. Enter sends; the up arrow in the empty field edits the last
 * question.
 * @param {{field: MessageFieldState, slash: ReturnType<typeof import("./slash.mjs").useSlash>, onSend: () => void,
 *   onEditLast: () => void, tools: any, readOnly?: string|null, children: any}} props `tools`: the model and the context;
 *   `readOnly`: why nothing can be written; `children` is the button to send or stop
 */
export function MessageField({ field, slash, tools, readOnly = null, onSend, onEditLast, children }) {
  const { textarea, attachments, pasting } = field;
  const listId = useId();
  const hasTip = useTip("field");
  const isListOpen = slash.isOpen && readOnly === null;
  const onKeyDown = (event) => {
    if (readOnly || slash.onKeyDown(event) || event.shiftKey) return;
    const isAlone = !event.altKey && !event.ctrlKey && !event.metaKey; // Alt and an arrow go through the checkpoints
    const isEdit = event.key === "ArrowUp" && isAlone && textarea.current.value === "" && attachments.files.length === 0;
    if (event.key !== "Enter" && !isEdit) return;
    event.preventDefault();
    if (isEdit) onEditLast();
    else onSend();
  };
  return h(
    "div",
    { className: "message-field",
      onClick: (event) => event.target.matches(".message-field, .field-foot") && textarea.current.focus() },
    isListOpen && h(SlashList, { id: listId, lines: slash.lines, selected: slash.selected, onChoose: slash.choose }),
    h("textarea", {
      ref: textarea, className: "message-field-text", dir: "auto", "data-testid": "composer", "aria-label": _("Message"),
      "aria-describedby": hasTip ? getTipId("field") : undefined,
      placeholder: readOnly ?? _("Write a message"), readOnly: readOnly !== null,
      rows: 1,
      ...(isListOpen && { role: "combobox", "aria-autocomplete": "list", "aria-expanded": true, "aria-controls": listId,
        "aria-activedescendant": `${listId}-${slash.selected}` }),
      onInput: field.onInput,
      onFocus: () => field.setFocused(true),
      onBlur: () => field.setFocused(false),
      onKeyDown,
      onPaste: readOnly ? undefined : pasting.onPaste,
    }),
    h("div", { className: "field-foot" },
      !readOnly && h(AttachButton, { onChoose: (files) => attachments.attach(files) }),
      !readOnly && h(CommandsButton, { field }),
      tools, children),
  );
}
