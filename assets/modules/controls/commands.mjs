/**
 * Commands of the palette and of the message field (`/`). Each mounted component offers its own, and each button of the bar
 * is one; those with a word are slash commands.
 */
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
export const listOffers = () =>
  [...commandsByOwner].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, list]) => list());

const BUTTONS =
  ".topbar [data-command], #undo, #redo, #more button:not([data-press], [data-run], #more-app [hidden], #more-app [hidden] *)";
const WORDS = ["undo", "redo", "clear", "settings", "app-settings", "export"]; // those of buttons, and their ids

/** List all offers, and the buttons and items of the bar. @returns {import("../state/types.mjs").Command[]} */
export const listCommands = () => [...listOffers(), ...Array.from(document.querySelectorAll(BUTTONS), describeButton)];

function describeButton(button) {
  const isOff = button.disabled || button.hidden || button.getAttribute("aria-disabled") === "true";
  const name = button.dataset.command ?? button.getAttribute("aria-label") ?? button.textContent;
  return {
    group: _("Actions"),
    name,
    word: WORDS.find((word) => word === button.id),
    keys: button.getAttribute("aria-keyshortcuts") ?? undefined,
    offReason: isOff ? _("“{name}” is not possible right now.", { name }) : null,
    run: () => button.click(),
  };
}

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
