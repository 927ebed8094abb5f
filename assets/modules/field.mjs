/** A text field that grows with its text, and what this tab keeps of it over a reload. */
const { useCallback, useEffect, useLayoutEffect, useMemo, useRef } = window.React;

const LONG = 5000; // characters that fill the field in any case

/**
 * @param {HTMLTextAreaElement} area
 * @param {number} tallest in pixels; what is more scrolls
 */
export function fitHeight(area, tallest) {
  if (area.value.length > LONG) {
    area.style.height = `${tallest}px`; // measuring 60 kB without a space takes seconds
    return;
  }
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, tallest)}px`;
}

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
export function keptUnsent(kind, thread) {
  try {
    return JSON.parse(sessionStorage.getItem(place(kind, thread)));
  } catch {
    return null;
  }
}

/** A conversation has begun: what was kept for a new one is its own. */
export function moveUnsent(kind, thread) {
  keepUnsent(kind, thread, keptUnsent(kind, null));
  keepUnsent(kind, null, null);
}

/**
 * Each thread has its own unsent text, as long as the tab is open, and files, as long as the page is.
 * @param {{current: boolean}} hasBegun whether the thread that comes next is what the last message began
 * @returns {{putBack: (thread: string|null, text: string, files: object[]) => void}} for what comes back to a thread that is not shown
 */
export function useDrafts(thread, hasBegun, field, setText, { files, set }) {
  const drafts = useRef(new Map());
  const shownFor = useRef(thread);
  useLayoutEffect(() => setText(keptUnsent("draft", thread) ?? ""), []);
  useLayoutEffect(() => {
    const before = shownFor.current;
    if (before === thread) return;
    shownFor.current = thread;
    // The first message of a new conversation gives it its id, a moment after the reply: what is typed meanwhile belongs to it.
    const isBegun = before === null && hasBegun.current;
    hasBegun.current = false;
    if (isBegun) {
      moveUnsent("draft", thread);
      return;
    }
    keepUnsent("draft", before, field.current.value);
    drafts.current.set(before, files);
    setText(keptUnsent("draft", thread) ?? "");
    set(drafts.current.get(thread) ?? []);
  }, [thread, hasBegun, field, setText, files, set]);
  const putBack = useCallback((to, text, more) => {
    keepUnsent("draft", to, joinTexts(text, keptUnsent("draft", to)));
    drafts.current.set(to, [...more, ...(drafts.current.get(to) ?? [])]);
  }, []);
  return useMemo(() => ({ putBack }), [putBack]);
}

/** Puts a text in an empty field, once for each key; the next one replaces it if the user has left it as it was. */
export function useFill(fill, field, setText) {
  const filled = useRef({ key: null, text: "" });
  useEffect(() => {
    if (!fill || filled.current.key === fill.key) return;
    const isUntouched = field.current.value === filled.current.text;
    filled.current = fill;
    if (field.current.value !== "" && !isUntouched) return;
    if (field.current.value !== fill.text) setText(fill.text);
    if (fill.text !== "") field.current.focus();
  }, [fill, field, setText]);
}
