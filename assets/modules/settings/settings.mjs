/**
 * The choice for a new conversation, by its settings (components/panels/settings.py) or the list of models; and the models
 * that answer the next messages of a conversation at once, side by side.
 */
import { setProperties } from "../browser/properties.mjs";
import { keep, readKeptJson } from "../browser/storage.mjs";
import { createValue } from "../browser/value.mjs";

const { useEffect } = window.React;

/** @typedef {import("../state/types.mjs").KeptChoice} KeptChoice */

/** For the conversation that the next message begins; kept while the page is open. */
const kept = createValue(/** @type {KeptChoice|null} */ (null));
let isChoiceSent = false;

/** @param {KeptChoice|null} next */
export function keepChoice(next) {
  noteChoice(next);
  setProperties({ "settings-kept": { data: next } });
}

/** Clientside callback: keep what the dialog chose. @param {KeptChoice|null} next */
export function noteChoice(next) {
  if (JSON.stringify(next) === JSON.stringify(kept.get())) return;
  isChoiceSent = false;
  kept.set(next);
}

/** @returns {{choice?: import("../state/types.mjs").Choice}} fields to send with the first message of a conversation */
export function takeChoice(thread) {
  const choice = kept.get();
  if (thread || choice === null) return {};
  isChoiceSent = true;
  return { choice: choice.choice };
}

/** @returns {KeptChoice|null} the choice for the shown new conversation; once it has begun, the server has it */
export function useKeptChoice(thread) {
  const choice = kept.use();
  useEffect(() => {
    if (thread && isChoiceSent) keepChoice(null);
  }, [thread]);
  return thread ? null : choice;
}

export const MAX_MODELS = 4;
const NONE = [];
const KEY = "waymark-several-models";

/** Fewer than two names: the conversation's model answers alone. Kept in the tab. */
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
