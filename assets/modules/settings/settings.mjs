/** The choice for a new conversation: what its settings (components/panels/settings.py) and the list of models chose. */
import { setProperties } from "../browser/properties.mjs";
import { createValue } from "../browser/value.mjs";

const { useEffect } = window.React;

const KEPT = "settings-kept";

/** @typedef {import("../state/types.mjs").KeptChoice} KeptChoice */

/** For the conversation that the next message begins; kept while the page is open. */
const kept = createValue(/** @type {KeptChoice|null} */ (null));
let isChoiceSent = false;

/** @param {KeptChoice|null} next */
export function keepChoice(next) {
  noteChoice(next);
  setProperties({ [KEPT]: { data: next } });
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
