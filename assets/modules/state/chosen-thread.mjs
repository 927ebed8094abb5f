/**
 * The conversation that a person has chosen. From the click on it is the one that they act on, also while the page still
 * reads it: what is typed is its draft, and what needs the page waits for it.
 */
import { readThread } from "../browser/addresses.mjs";
import { createValue } from "../browser/value.mjs";

const { useEffect } = window.React;

const expected = createValue(/** @type {string|null} */ (null));

/** @param {string|null} thread the request id of the message that begins it; null if it does not begin */
export const expectThread = (thread) => expected.set(thread);

/**
 * @param {import("./types.mjs").TranscriptData|undefined} data
 * @param {import("./types.mjs").Reply|undefined} reply
 * @returns {string|null} the conversation to show: that of the data, or else the expected one
 */
export function useShownThread(data, reply) {
  const beginning = expected.use();
  const thread = data?.thread ?? null;
  const isRefused = reply?.ok === false && reply.request_id === beginning;
  useEffect(() => {
    if (thread !== null || isRefused) expected.set(null);
  }, [thread, isRefused]);
  return thread ?? (data?.version === 0 ? beginning : null);
}

/**
 * @typedef {{thread: string|null, isShown: boolean, isLost: boolean, visit: number}} ChosenThread  `thread`: null is one
 *   that has not begun; `isShown`: all panels show it; `isLost`: it could not be read; `visit` counts the choices
 */

/** @type {ChosenThread} */
const first = { thread: readThread(location.pathname), isShown: false, isLost: false, visit: 0 };
const chosen = createValue(first);
/** @type {{work: () => void, onDrop: () => void}[]} */
let waiting = [];

function set(next) {
  chosen.set(next);
  document.documentElement.toggleAttribute("data-going", isGoing());
}

function takeWaiting() {
  const taken = waiting;
  waiting = [];
  return taken;
}

export const getChosenThread = chosen.get;

/** @returns {ChosenThread} */
export const useChosenThread = () => chosen.use();

/** Return whether the page is reading the chosen conversation, and shows another one. */
export const isGoing = () => !getChosenThread().isShown && !getChosenThread().isLost;

/** Choose the conversation of an address. What waited for the one before is dropped. @param {string} pathname */
export function chooseThread(pathname) {
  for (const { onDrop } of takeWaiting()) onDrop();
  const thread = readThread(pathname);
  const before = getChosenThread();
  set({ thread, isShown: before.isShown && before.thread === thread, isLost: false, visit: before.visit + 1 });
}

/** Report that the panels show the conversation of an address: the chosen one, or one that has begun. */
export function reportShown(pathname) {
  const thread = readThread(pathname);
  const before = getChosenThread();
  if (before.thread === thread ? before.isShown : !before.isShown) return;
  set({ ...before, thread, isShown: true, isLost: false });
  for (const { work } of takeWaiting()) work();
}

/** Report that the conversation of an address could not be read. */
export function reportUnread(pathname) {
  const before = getChosenThread();
  if (before.isShown || before.thread !== readThread(pathname)) return;
  set({ ...before, isLost: true });
  for (const { onDrop } of takeWaiting()) onDrop();
}

/**
 * Do what is for the chosen conversation, as soon as the page shows it.
 * @param {() => void} work
 * @param {() => void} [onDrop] called instead, where another one is chosen before, or this one cannot be read
 */
export function whenShown(work, onDrop = () => undefined) {
  if (!isGoing()) work();
  else waiting.push({ work, onDrop });
}
