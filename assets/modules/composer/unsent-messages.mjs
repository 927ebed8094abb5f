/** Unsent messages of each conversation, kept in the tab's session storage across a reload. */
import { _ } from "../lib/words.mjs";
const { useEffect, useLayoutEffect, useMemo, useRef } = window.React;

export const FILES_NOT_KEPT = _("Your message is back in the field; its files were not kept.");

/** @returns {string} the texts joined, each in its own paragraph */
export const joinTexts = (...texts) => texts.filter(Boolean).join("\n\n");

/**
 * Return the storage key of an unsent message: the draft, the queued message, or a sent message without a reply.
 * @typedef {{text: string, request_id: string, files: number}} UnsentMessage  its request id prevents a second send; `files`
 *   is their number
 * @param {"draft"|"queue"|"sent"} kind
 * @param {string|null} thread null for a conversation that has not begun
 */
const getStorageKey = (kind, thread) => `waymark-${kind}:${thread ?? ""}`;

/** @param {string|UnsentMessage|null} value an empty one removes the entry */
export function storeUnsent(kind, thread, value) {
  try {
    if (value) sessionStorage.setItem(getStorageKey(kind, thread), JSON.stringify(value));
    else sessionStorage.removeItem(getStorageKey(kind, thread));
  } catch {
    // The storage is full or blocked: typed text stays in the field while the page is open.
  }
}

/** @returns {string|UnsentMessage|null} */
export function readUnsent(kind, thread) {
  try {
    return JSON.parse(sessionStorage.getItem(getStorageKey(kind, thread)));
  } catch {
    return null;
  }
}

/** Move the entry of a new conversation to the id that the conversation received. */
export function moveUnsent(kind, thread) {
  storeUnsent(kind, thread, readUnsent(kind, null));
  storeUnsent(kind, null, null);
}

/**
 * Keep the draft of each thread: its text while the tab is open, its files while the page is open.
 * @param {import("./message-field.mjs").MessageFieldState} field
 * @returns {{expectThread: () => void, putBack: Function, removeMessage: Function}} `putBack` and `removeMessage` change the
 *   draft of a thread that is not shown; `expectThread` announces that the last message began the next thread
 */
export function useDrafts(thread, field) {
  const filesByThread = useRef(new Map());
  const shownThread = useRef(thread);
  const isExpected = useRef(false);
  const { attachments } = field;
  useLayoutEffect(() => field.setText(readUnsent("draft", thread) ?? ""), []);
  useLayoutEffect(() => {
    const previousThread = shownThread.current;
    if (previousThread === thread) return;
    shownThread.current = thread;
    // A new conversation gets its id a moment after the reply to its first message. Text typed meanwhile belongs to it.
    const isBegun = previousThread === null && isExpected.current;
    isExpected.current = false;
    if (isBegun) {
      moveUnsent("draft", thread);
      return;
    }
    storeUnsent("draft", previousThread, field.getText());
    filesByThread.current.set(previousThread, attachments.getFiles());
    field.setText(readUnsent("draft", thread) ?? "");
    attachments.replaceFiles(filesByThread.current.get(thread) ?? []);
  }, [thread]);
  return useMemo(() => ({ expectThread: () => (isExpected.current = true), ...buildDraftActions(filesByThread) }), []);
}

function buildDraftActions(filesByThread) {
  const getFiles = (thread) => filesByThread.current.get(thread) ?? [];
  return {
    putBack: ({ text, files, thread }) => {
      storeUnsent("draft", thread, joinTexts(text, readUnsent("draft", thread)));
      filesByThread.current.set(thread, [...files, ...getFiles(thread)]);
    },
    removeMessage: ({ text, files, thread }) => {
      const draft = readUnsent("draft", thread) ?? "";
      if (!draft.startsWith(text)) return;
      storeUnsent("draft", thread, draft.slice(text.length).trimStart());
      filesByThread.current.set(thread, getFiles(thread).filter((file) => !files.includes(file)));
    },
  };
}

/** Put a text into an empty field, once for each key. The next text replaces it if the user has not edited it. */
export function useFilledText(fill, { textarea, getText, setText }) {
  const filled = useRef({ key: null, text: "" });
  useEffect(() => {
    if (!fill || filled.current.key === fill.key) return;
    const isUntouched = getText() === filled.current.text;
    filled.current = fill;
    if (getText() !== "" && !isUntouched) return;
    if (getText() !== fill.text) setText(fill.text);
    // Not on touch screens, where the focus would open the keyboard over the banner.
    if (fill.text !== "" && matchMedia("(pointer: fine)").matches) textarea.current.focus();
  }, [fill]);
}
