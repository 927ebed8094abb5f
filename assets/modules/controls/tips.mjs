/** The tips for somebody who sees the page for the first time: one at a time, and one that was read never comes back. */
import { readOption, storeOption, usePageOption } from "../browser/page-options.mjs";
import { _ } from "../words/words.mjs";
import { button } from "./buttons.mjs";

const { createElement: h, useEffect } = window.React;

/** In their order. */
const TEXTS = {
  field: _("Write a message, or type / for commands."),
  checkpoint: _(
    "Save a checkpoint when you like where things are: it appears here as a diamond, and you can always come back to it.",
  ),
  history: _("History draws the whole conversation: choose a place in it to go back, to branch or to compare."),
};
/** @typedef {"field"|"checkpoint"|"history"} TipName */
const NAMES = /** @type {TipName[]} */ (Object.keys(TEXTS));
const FIRST_RUN = "first-run";

const getOption = (name) => `tip-${name}-read`;

/** @param {TipName[]} names */
export function endTips(names) {
  for (const name of names) if (!readOption(getOption(name))) storeOption(getOption(name), true);
}

/**
 * Begin the tips where the list of conversations is empty; without them, the page is known.
 * @param {{id: string}[]|undefined} threads
 */
export function useFirstRun(threads) {
  const count = threads?.length;
  useEffect(() => {
    if (count === undefined || readOption(FIRST_RUN)) return;
    if (count > 0) endTips(NAMES);
    storeOption(FIRST_RUN, true);
  }, [count]);
}

/** End two tips with the first checkpoint, and all with the second. @param {number} count of them */
export function useEndOfTips(count) {
  useEffect(() => {
    if (count > 0) endTips(count > 1 ? NAMES : ["field", "checkpoint"]);
  }, [count]);
}

/** @param {TipName} name @returns {boolean} whether it is the next tip */
export function useTip(name) {
  const isFirstRun = usePageOption(FIRST_RUN);
  const isRead = NAMES.map((each) => usePageOption(getOption(each))); // always the same hooks
  return isFirstRun && isRead.indexOf(false) === NAMES.indexOf(name);
}

/** Return the id of the tip's text. @param {TipName} name */
export const getTipId = (name) => `tip-${name}`;

/** A tip in its place in the page, so that it covers nothing. @param {{name: TipName}} props */
export function Tip({ name }) {
  if (!useTip(name)) return null;
  const id = getTipId(name);
  const onRead = () => storeOption(getOption(name), true);
  return h(
    "div",
    { className: `tip tip-${name}`, role: "note", "aria-label": _("Tip"), "data-testid": "tip" },
    h("p", { id }, TEXTS[name]),
    button("quiet-button", _("Got it"), onRead, { "aria-describedby": id }),
  );
}
