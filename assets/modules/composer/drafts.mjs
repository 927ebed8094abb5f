/** What is written and not sent, of each conversation: kept over a reload of the tab. */
const { useEffect, useLayoutEffect, useMemo, useRef } = window.React;

export const FILES_NOT_KEPT = "Your message is back in the field; its files were not kept.";

/** @returns {string} one text that holds both, each in a paragraph of its own */
export const joinTexts = (...texts) => texts.filter(Boolean).join("\n\n");

/**
 * What is written and not sent, by conversation: the draft, what waits for the end of an answer, and what is under way.
 * @typedef {{text: string, op: string, files: number}} Waiting  its operation id keeps it from being sent twice
 * @param {"draft"|"queue"|"sent"} kind
 * @param {string|null} thread null for a conversation that has not begun
 */
const place = (kind, thread) => `waymark-${kind}:${thread ?? ""}`;

/** @param {string|Waiting|null} value nothing is kept of an empty one */
export function keepUnsent(kind, thread, value) {
  try {
    if (value) sessionStorage.setItem(place(kind, thread), JSON.stringify(value));
    else sessionStorage.removeItem(place(kind, thread));
  } catch {
    // A full or forbidden storage: what is typed stays in the field, as long as the page is open.
  }
}

/** @returns {string|Waiting|null} */
export function readUnsent(kind, thread) {
  try {
    return JSON.parse(sessionStorage.getItem(place(kind, thread)));
  } catch {
    return null;
  }
}

/** A conversation has begun: what was kept for a new one is its own. */
export function moveUnsent(kind, thread) {
  keepUnsent(kind, thread, readUnsent(kind, null));
  keepUnsent(kind, null, null);
}

/**
 * Each thread has its own unsent text, as long as the tab is open, and files, as long as the page is.
 * @param {import("./message-box.mjs").MessageBox} box
 * @returns {{expectThread: () => void, putBack: Function, takeOut: Function}} `putBack` and `takeOut` are for a message of a
 *   thread that is not shown; `expectThread` says that the thread which comes next is what the last message began
 */
export function useDrafts(thread, box) {
  const files = useRef(new Map());
  const shownFor = useRef(thread);
  const isExpected = useRef(false);
  const { attached } = box;
  useLayoutEffect(() => box.setText(readUnsent("draft", thread) ?? ""), []);
  useLayoutEffect(() => {
    const before = shownFor.current;
    if (before === thread) return;
    shownFor.current = thread;
    // The first message of a new conversation gives it its id, a moment after the reply: what is typed meanwhile belongs to it.
    const isBegun = before === null && isExpected.current;
    isExpected.current = false;
    if (isBegun) {
      moveUnsent("draft", thread);
      return;
    }
    keepUnsent("draft", before, box.read());
    files.current.set(before, attached.current());
    box.setText(readUnsent("draft", thread) ?? "");
    attached.set(files.current.get(thread) ?? []);
  }, [thread]);
  return useMemo(() => ({ expectThread: () => (isExpected.current = true), ...moveDrafts(files) }), []);
}

function moveDrafts(files) {
  const filesOf = (thread) => files.current.get(thread) ?? [];
  return {
    putBack: ({ text, files: more, thread }) => {
      keepUnsent("draft", thread, joinTexts(text, readUnsent("draft", thread)));
      files.current.set(thread, [...more, ...filesOf(thread)]);
    },
    takeOut: ({ text, files: gone, thread }) => {
      const draft = readUnsent("draft", thread) ?? "";
      if (!draft.startsWith(text)) return;
      keepUnsent("draft", thread, draft.slice(text.length).trimStart());
      files.current.set(thread, filesOf(thread).filter((file) => !gone.includes(file)));
    },
  };
}

/** Puts a text in an empty field, once for each key; the next one replaces it if the user has left it as it was. */
export function useFill(fill, { field, read, setText }) {
  const filled = useRef({ key: null, text: "" });
  useEffect(() => {
    if (!fill || filled.current.key === fill.key) return;
    const isUntouched = read() === filled.current.text;
    filled.current = fill;
    if (read() !== "" && !isUntouched) return;
    if (read() !== fill.text) setText(fill.text);
    if (fill.text !== "") field.current.focus();
  }, [fill]);
}
