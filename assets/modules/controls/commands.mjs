/** Commands of the palette and of the message field (`/`). Each mounted component offers its own. */
import { createValue } from "../browser/value.mjs";
import { _ } from "../words/words.mjs";
const { useEffect, useRef } = window.React;

export const GO_BACK = _("Go back to");
export const SUMMARISE_COMMAND = _("Summarise the conversation"); // the bar's menu names it, too
export const RUN_AGAIN_COMMAND = _("Run again"); // likewise
const choicesRevision = createValue(0);
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

const KEYS = { Control: document.documentElement.hasAttribute("data-mac") ? "⌘" : _("Ctrl"), Shift: _("Shift") };

/**
 * Name the keys of a shortcut, as the page's people know them.
 * @param {string} shortcuts as in `aria-keyshortcuts`: of several, the first @returns {string[]}
 */
export const nameKeys = (shortcuts) => shortcuts.split(" ")[0].split("+").map((key) => KEYS[key] ?? key);

/** Tell the open lists that a command has other choices now: they were fetched. */
export const announceChoices = () => choicesRevision.set(choicesRevision.get() + 1);

/** @returns {number} changes when choices were announced */
export const useChoicesRevision = () => choicesRevision.use();
