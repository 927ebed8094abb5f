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

const { Fragment, createElement: h, useCallback, useId, useMemo, useRef, useState } = window.React;

/**
 * Wrap what Enter does. While the conversation is coming, a command waits for it, and a message is queued.
 * @param {string|null} thread
 * @param {import("./composer.mjs").Coming} coming
 * @param {{field: MessageFieldState,
 *   drafts: ReturnType<typeof import("./unsent-messages.mjs").useDrafts>,
 *   slash: ReturnType<typeof import("./slash.mjs").useSlash>, send: () => void, submit: (text: string) => void}} parts
 * @returns {() => void}
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
 * @typedef {{text: string, files: import("../state/types.mjs").ChosenFile[],
 *   unread?: import("./attachments.mjs").Reading[]}}
 *   Message  `unread`: files of it that were still being read when it left the field
 * @typedef {{textarea: {current: HTMLTextAreaElement}, attachments: ReturnType<typeof useAttachments>,
 *   pasting: ReturnType<typeof usePasting>, isEmpty: boolean, tokens: number, slashText: string|null, isFocused: boolean,
 *   onInput: () => void, setFocused: (isFocused: boolean) => void, getText: () => string, setText: (text: string) => void,
 *   changeText: (text: string) => void, insertText: (text: string) => void, takeMessage: () => Message,
 *   removeMessage: (message: Message) => boolean, putBack: (message: Message) => void}} MessageFieldState
 * @param {string|null} thread whose draft is stored
 * @returns {MessageFieldState}
 */
export function useMessageField(thread) {
  const textarea = useRef(null);
  const shownThread = useRef(thread);
  shownThread.current = thread;
  const attachments = useAttachments(thread);
  const [isBlank, setBlank] = useState(true);
  const [tokens, setTokens] = useState(0);
  const [slashText, setSlashText] = useState(null);
  const [isFocused, setFocused] = useState(false);
  const measure = useCallback(() => {
    setBlank(textarea.current.value.trim() === "");
    setTokens(estimateTokens(textarea.current.value));
    // a dialog that closes returns the focus without an event for React
    setFocused(document.activeElement === textarea.current);
    setSlashText(isSlashText(textarea.current.value) ? textarea.current.value : null);
  }, []);
  const { files, isReading, prependFiles } = attachments;
  const actions = useMemo(
    () => buildFieldActions(textarea, shownThread, measure, attachments),
    [measure, prependFiles],
  );
  const isEmpty = isBlank && files.length === 0 && !isReading;
  const pasting = usePasting(textarea, attachments, actions.onInput);
  const insertText = (text) => {
    const { current: area } = textarea;
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.focus();
    actions.onInput();
  };
  return { textarea, attachments, pasting, isEmpty, tokens, slashText, isFocused, setFocused, insertText, ...actions };
}

/** Build the functions that move text and files into and out of the field. They store the remaining text as the draft. */
function buildFieldActions(textarea, shownThread, measure, attachments) {
  const { getFiles, prependFiles, removeFiles, takeReadings, returnReadings } = attachments;
  const storeDraft = () => storeUnsent("draft", shownThread.current, textarea.current.value);
  const setText = (text) => {
    textarea.current.value = text;
    measure();
  };
  const changeText = (text) => {
    setText(text);
    storeDraft();
  };
  return {
    setText,
    changeText,
    getText: () => textarea.current.value,
    onInput: () => {
      measure();
      storeDraft();
    },
    takeMessage: () => {
      const message = { text: textarea.current.value, files: getFiles(), unread: takeReadings() };
      changeText("");
      removeFiles(message.files);
      return message;
    },
    /** @returns {boolean} false if the field does not begin with the unchanged message */
    removeMessage: ({ text, files }) => {
      const { value } = textarea.current;
      if (!value.startsWith(text)) return false;
      changeText(value.slice(text.length).trimStart());
      removeFiles(files);
      return true;
    },
    putBack: ({ text, files, unread = [] }) => {
      changeText(joinTexts(text, textarea.current.value));
      prependFiles(files);
      returnReadings(unread);
    },
  };
}

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
      ref: textarea,
      className: "message-field-text", dir: "auto",
      "data-testid": "composer",
      "aria-label": _("Message"),
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
    h("div", { className: "field-foot" }, !readOnly && h(WritingButtons, { field }), tools, children),
  );
}

const WritingButtons = ({ field }) =>
  h(Fragment, null, h(AttachButton, { onChoose: field.attachments.attach }), h(CommandsButton, { field }));
