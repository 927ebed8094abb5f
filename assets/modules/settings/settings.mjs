/** The choice for a new conversation: what its settings (components/panels/settings.py) and the list of models chose. */
import { setProperties } from "../browser/properties.mjs";

const { useEffect, useSyncExternalStore } = window.React;

const KEPT = "settings-kept";

/**
 * @type {import("../state/types.mjs").KeptChoice|null} for the conversation that the next message begins; kept while the
 *   page
 *   is open
 */
let keptChoice = null;
let isChoiceSent = false;
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {import("../state/types.mjs").KeptChoice|null} next */
export function keepChoice(next) {
  noteChoice(next);
  setProperties({ [KEPT]: { data: next } });
}

/** Clientside callback: keep what the dialog chose. @param {import("../state/types.mjs").KeptChoice|null} next */
export function noteChoice(next) {
  if (JSON.stringify(next) === JSON.stringify(keptChoice)) return;
  keptChoice = next;
  isChoiceSent = false;
  for (const listener of listeners) listener();
}

/** @returns {{choice?: import("../state/types.mjs").Choice}} fields to send with the first message of a conversation */
export function takeChoice(thread) {
  if (thread || keptChoice === null) return {};
  isChoiceSent = true;
  return { choice: keptChoice.choice };
}

/**
 * @returns {import("../state/types.mjs").KeptChoice|null} the choice for the shown new conversation; once it has begun, the
 *   server has it
 */
export function useKeptChoice(thread) {
  const current = useSyncExternalStore(subscribe, () => keptChoice);
  useEffect(() => {
    if (thread && isChoiceSent) keepChoice(null);
  }, [thread]);
  return thread ? null : current;
}
