/** The models that answer the next messages at once, side by side. Kept in the tab, for the conversation that chose them. */
const { useEffect, useSyncExternalStore } = window.React;

export const MAX_MODELS = 4;
const NONE = [];

const KEY = "waymark-several-models";

/** @type {{thread: string|null, names: string[]}} fewer than two names: the conversation's model answers alone */
let chosen = readChosen();
let isSent = false;
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const findNames = (thread) => (chosen.thread === thread ? chosen.names : NONE);

/** @param {string|null} thread @param {string[]} names */
export function keepSeveral(thread, names) {
  chosen = { thread, names: names.length < 2 ? NONE : names };
  isSent = false;
  storeChosen();
  for (const listener of listeners) listener();
}

/** @returns {{models?: string[]}} fields to send with a message */
export function takeModels(thread) {
  const names = findNames(thread);
  isSent ||= names.length > 0 && thread === null;
  return names.length > 0 ? { models: names } : {};
}

/**
 * @returns {string[]} the models that answer at once; none if one answers. A conversation that begins with them keeps them.
 */
export function useSeveral(thread) {
  const names = useSyncExternalStore(subscribe, () => findNames(thread));
  useEffect(() => {
    if (thread !== null && chosen.thread === null && isSent) keepSeveral(thread, chosen.names);
  }, [thread]);
  return names;
}

function readChosen() {
  try {
    const { thread, names } = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") ?? {};
    return Array.isArray(names) && names.length <= MAX_MODELS ? { thread, names } : { thread: null, names: NONE };
  } catch {
    return { thread: null, names: NONE };
  }
}

function storeChosen() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(chosen));
  } catch {
    // storage is full or blocked: the choice is kept while the page is open
  }
}
