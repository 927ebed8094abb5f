/** A text field that grows with its text, and what this tab keeps of it over a reload. */
const { useEffect, useLayoutEffect, useRef } = window.React;

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

/**
 * What is written and not sent, by conversation: the draft, and what waits for the end of an answer.
 * @typedef {{text: string, op: string, files: number}} Waiting  its operation id keeps it from being sent twice
 * @param {"draft"|"queue"} kind
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

/** Each thread has its own unsent text, as long as the tab is open, and files, as long as the page is. */
export function useDrafts(thread, { isSending, hasFailed }, field, setText, { files, set }) {
  const drafts = useRef(new Map());
  const shownFor = useRef(thread);
  const beginsOne = useRef(false);
  useLayoutEffect(() => setText(keptUnsent("draft", thread) ?? ""), []);
  useLayoutEffect(() => {
    const before = shownFor.current;
    if (thread === null && isSending) beginsOne.current = true;
    if (hasFailed) beginsOne.current = false;
    if (before === thread) return;
    shownFor.current = thread;
    // The first message of a new conversation gives it its id, a moment after the reply: what is typed meanwhile belongs to it.
    const isBegun = before === null && beginsOne.current;
    beginsOne.current = false;
    if (isBegun) {
      moveUnsent("draft", thread);
      return;
    }
    keepUnsent("draft", before, field.current.value);
    drafts.current.set(before, files);
    setText(keptUnsent("draft", thread) ?? "");
    set(drafts.current.get(thread) ?? []);
  }, [thread, isSending, hasFailed, field, setText, files, set]);
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
