/**
 * The conversation that a person has chosen. From the click on it is the one that they act on, also while the page still
 * reads it: what is typed is its draft, and what needs the page waits for it.
 */
import { readThread } from "../browser/addresses.mjs";

const { useSyncExternalStore, useEffect, useState } = window.React;

const EXPECT_EVENT = "waymark-expect";

/** @param {string|null} thread the request id of the message that begins it; null if it does not begin */
export const expectThread = (thread) => document.dispatchEvent(new CustomEvent(EXPECT_EVENT, { detail: { thread } }));

/**
 * @param {import("./types.mjs").TranscriptData|undefined} data
 * @param {import("./types.mjs").Reply|undefined} reply
 * @returns {string|null} the conversation to show: that of the data, or else the expected one
 */
export function useShownThread(data, reply) {
  const [expected, setExpected] = useState(null);
  const thread = data?.thread ?? null;
  useEffect(() => {
    const onExpect = (event) => setExpected(event.detail.thread);
    document.addEventListener(EXPECT_EVENT, onExpect);
    return () => document.removeEventListener(EXPECT_EVENT, onExpect);
  }, []);
  const isRefused = reply?.ok === false && reply.request_id === expected;
  useEffect(() => {
    if (thread !== null || isRefused) setExpected(null);
  }, [thread, isRefused]);
  return thread ?? (data?.version === 0 ? expected : null);
}

/**
 * @typedef {{thread: string|null, isShown: boolean, isLost: boolean, visit: number}} ChosenThread  `thread`: null is one
 *   that has not begun; `isShown`: all panels show it; `isLost`: it could not be read; `visit` counts the choices
 */

/** @type {ChosenThread} */
let chosen = { thread: readThread(location.pathname), isShown: false, isLost: false, visit: 0 };
/** @type {{work: () => void, onDrop: () => void}[]} */
let waiting = [];
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function set(next) {
  chosen = next;
  document.documentElement.toggleAttribute("data-going", isGoing());
  for (const listener of listeners) listener();
}

function takeWaiting() {
  const taken = waiting;
  waiting = [];
  return taken;
}

export const getChosenThread = () => chosen;

/** @returns {ChosenThread} */
export const useChosenThread = () => useSyncExternalStore(subscribe, getChosenThread);

/** Return whether the page is reading the chosen conversation, and shows another one. */
export const isGoing = () => !chosen.isShown && !chosen.isLost;

/** Choose the conversation of an address. What waited for the one before is dropped. @param {string} pathname */
export function chooseThread(pathname) {
  for (const { onDrop } of takeWaiting()) onDrop();
  const thread = readThread(pathname);
  const isShown = chosen.isShown && chosen.thread === thread;
  set({ thread, isShown, isLost: false, visit: chosen.visit + 1 });
}

/** Report that the panels show the conversation of an address: the chosen one, or one that has begun. */
export function reportShown(pathname) {
  const thread = readThread(pathname);
  if (chosen.thread === thread ? chosen.isShown : !chosen.isShown) return;
  set({ ...chosen, thread, isShown: true, isLost: false });
  for (const { work } of takeWaiting()) work();
}

/** Report that the conversation of an address could not be read. */
export function reportUnread(pathname) {
  if (chosen.isShown || chosen.thread !== readThread(pathname)) return;
  set({ ...chosen, isLost: true });
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
