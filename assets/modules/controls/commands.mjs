/** Commands of the palette and of the message field (`/`). Each mounted component offers its own. */
import { _ } from "../words/words.mjs";
const { useEffect, useReducer, useRef } = window.React;

export const GO_BACK = _("Go back to");
export const SUMMARISE_COMMAND = _("Summarise the conversation"); // the bar's menu names it, too
export const RUN_AGAIN_COMMAND = _("Run again"); // likewise
const CHOICES_EVENT = "waymark-choices";
const commandsByOwner = new Map();

/**
 * @param {string} owner name of the component that offers
 * @param {() => import("../state/types.mjs").Command[]} list called when the palette opens, and
 *   while a slash command is typed
 */
export function useCommands(owner, list) {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    commandsByOwner.set(owner, () => latest.current());
    return () => commandsByOwner.delete(owner);
  }, [owner]);
}

/** List all offers: components may be mounted in any order. @returns {import("../state/types.mjs").Command[]} */
export const listCommands = () =>
  [...commandsByOwner].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, list]) => list());

/** Tell the open lists that a command has other choices now: they were fetched. */
export const announceChoices = () => document.dispatchEvent(new Event(CHOICES_EVENT));

/** @returns {number} changes when choices were announced */
export function useChoicesRevision() {
  const [revision, increase] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    document.addEventListener(CHOICES_EVENT, increase);
    return () => document.removeEventListener(CHOICES_EVENT, increase);
  }, []);
  return revision;
}
