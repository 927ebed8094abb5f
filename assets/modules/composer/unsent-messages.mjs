/** Unsent messages of each conversation: their texts outlive a reload, their files do not. */
import { buildPath } from "../browser/addresses.mjs";
import { joinTexts, moveUnsent, readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { showToast } from "../controls/toast.mjs";
import { expectThread } from "../state/chosen-thread.mjs";
import { goTo } from "../state/panels.mjs";
import { findTitle } from "../state/shown-panels.mjs";
import { _ } from "../words/words.mjs";
import { moveInputs } from "./graph-inputs.mjs";

const { useEffect, useLayoutEffect, useMemo, useRef } = window.React;

export const FILES_NOT_KEPT = _("Your message is back in the field; its files were not kept.");
const MAX_QUOTE_CHARS = 60;

/**
 * Keep the draft of each thread: its text while the tab is open, its files while the page is open.
 * @param {{thread?: string|null, opened?: string|null}} data
 * @param {import("./message-field.mjs").MessageFieldState} field
 * @param {number} visit that shows the thread
 * @param {{current: AwaitedThread|null}} awaited
 * @returns {{putBack: Function, removeMessage: Function}} change the draft of a thread that is not shown
 */
export function useDrafts({ thread = null, opened = null }, field, visit, awaited) {
  const filesByThread = useRef(new Map());
  const shown = useRef({ thread, opened, visit });
  const { attachments } = field;
  useLayoutEffect(() => field.setText(recoverDraft(thread)), []);
  useLayoutEffect(() => {
    const before = shown.current;
    const isSame = isSameAddress(before, { thread, opened, visit });
    const left = findLeftThread(before, { thread, visit }, awaited.current);
    if (left !== before.thread) {
      moveUnsent("draft", left); // it was typed while that one began
      moveInputs(left);
      attachments.owner.thread = left;
    }
    shown.current = { thread, opened, visit };
    if (left === thread) return;
    const [text, files] = [field.getText(), attachments.files];
    storeUnsent("draft", left, isSame ? null : text);
    filesByThread.current.set(left, isSame ? [] : files);
    field.setText(joinTexts(isSame && text, recoverDraft(thread)));
    storeUnsent("draft", thread, field.getText());
    attachments.owner = { thread };
    attachments.replaceFiles([...(isSame ? files : []), ...(filesByThread.current.get(thread) ?? [])]);
  }, [thread, visit]);
  const actions = useMemo(() => buildDraftActions(filesByThread, attachments), []);
  attachments.onStray = (files, from) => {
    if (from === shown.current.thread) attachments.prependFiles(files);
    else actions.putBack({ text: "", files, thread: from });
  };
  return actions;
}

/** Tell that a message has become the draft of a conversation that the person has left. */
export function reportLeftMessage({ text, thread }) {
  const line = text.trim().replace(/\s+/g, " ") || _("Attached files");
  const quote = line.length <= MAX_QUOTE_CHARS ? line : `${line.slice(0, MAX_QUOTE_CHARS)}…`;
  const title = thread === null ? _("New conversation") : findTitle(thread);
  const told = title
    ? _("Not sent: “{text}” is a draft in “{title}”.", { text: quote, title })
    : _("Not sent: “{text}” is a draft in the conversation that you have left.", { text: quote }); // it has just begun
  showToast(told, () => (expectThread(null), goTo(buildPath(thread))), _("Go back"));
}

/** Return the draft of a thread, after a command that had not run when the page was left: it does not run unseen. */
function recoverDraft(thread) {
  const command = readUnsent("command", thread);
  const draft = joinTexts(command, readUnsent("draft", thread));
  if (command === null) return draft;
  storeUnsent("draft", thread, draft);
  storeUnsent("command", thread, null);
  return draft;
}

/**
 * Find the thread that the field was of. A new conversation gets its id a moment after its first message, and what is typed
 * meanwhile belongs to it: it has not been left when it is shown, but it has when another one is.
 * @typedef {{thread: string, isLate: boolean}} AwaitedThread  begun by the last message, and not shown yet; `isLate`: its
 *   message may not have arrived, and is back in the field
 * @param {{thread: string|null, visit: number}} before @param {{thread: string|null, visit: number}} now
 * @param {AwaitedThread|null} awaited
 * @returns {string|null} that of now, where the field goes on
 */
export function findLeftThread(before, now, awaited) {
  if (before.thread !== null || awaited === null) return before.thread;
  if (now.thread === awaited.thread) return now.thread;
  return before.visit === now.visit || awaited.isLate ? null : awaited.thread;
}

/**
 * Whether a conversation has gone from under the page, or come back: nobody chose another one, so the text stays.
 * @param {{thread: string|null, opened: string|null, visit: number}} before @param {typeof before} now
 */
export function isSameAddress(before, now) {
  if (before.visit !== now.visit || before.thread === now.thread) return false;
  return before.thread === null ? now.thread === before.opened : now.thread === null && now.opened === before.thread;
}

function buildDraftActions(filesByThread, attachments) {
  const getFiles = (thread) => filesByThread.current.get(thread) ?? [];
  return {
    putBack: ({ text, files, unread = [], thread }) => {
      storeUnsent("draft", thread, joinTexts(text, readUnsent("draft", thread)));
      filesByThread.current.set(thread, [...files, ...getFiles(thread)]);
      attachments.returnReadings(unread);
    },
    removeMessage: ({ text, files, thread }) => {
      const draft = readUnsent("draft", thread) ?? "";
      if (!draft.startsWith(text)) return false;
      storeUnsent("draft", thread, draft.slice(text.length).trimStart());
      filesByThread.current.set(thread, getFiles(thread).filter((file) => !files.includes(file)));
      return true;
    },
  };
}

/**
 * Put a text into an empty field, once for each key, or before a draft that is to be below it. The next text replaces it if
 * the user has not edited it.
 * @param {{key: string, text: string, draft?: "below"}|null} fill
 */
export function useFilledText(fill, { textarea, getText, setText, changeText }) {
  const filled = useRef({ key: null, shown: "", draft: "" });
  useEffect(() => {
    if (!fill || filled.current.key === fill.key) return;
    const typed = getText();
    const isUntouched = typed === filled.current.shown;
    const draft = isUntouched ? filled.current.draft : typed;
    const isPlaced = isUntouched || typed === "" || fill.draft === "below";
    const shown = joinTexts(fill.text, draft);
    filled.current = { key: fill.key, ...(isPlaced && fill.text !== "" ? { shown, draft } : { shown: "", draft: "" }) };
    if (!isPlaced) return;
    if (typed !== shown) (draft === "" ? setText : changeText)(shown);
    if (fill.text === "") return;
    if (draft !== "") showToast(_("Your draft is in the field, below the message."));
    // Not on touch screens, where the focus would open the keyboard over the banner.
    if (matchMedia("(pointer: fine)").matches) textarea.current.focus();
  }, [fill]);
}
