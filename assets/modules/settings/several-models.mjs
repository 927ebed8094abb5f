/** The models that answer the next messages at once, side by side. Kept in the tab, for the conversation that chose them. */
import { keep, readKeptJson } from "../browser/storage.mjs";
import { createValue } from "../browser/value.mjs";

const { useEffect } = window.React;

export const MAX_MODELS = 4;
const NONE = [];

const KEY = "waymark-several-models";

/** Fewer than two names: the conversation's model answers alone. */
const chosen = createValue(readKeptJson(KEY, "sessionStorage") ?? { thread: null, names: NONE });
let isSent = false;

const findNames = (thread) => (chosen.get().thread === thread ? chosen.get().names : NONE);

/** @param {string|null} thread @param {string[]} names */
export function keepSeveral(thread, names) {
  isSent = false;
  chosen.set({ thread, names: names.length < 2 ? NONE : names });
  keep(KEY, JSON.stringify(chosen.get()), "sessionStorage");
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
  const names = chosen.use(() => findNames(thread));
  useEffect(() => {
    if (thread !== null && chosen.get().thread === null && isSent) keepSeveral(thread, chosen.get().names);
  }, [thread]);
  return names;
}
