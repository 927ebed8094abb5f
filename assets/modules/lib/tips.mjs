/** The tips for somebody who sees the page for the first time: one at a time, and one that was read never comes back. */
import { lazy } from "./lazy.mjs";
import { readOption, storeOption, usePageOption } from "./page-options.mjs";

const { createElement: h, useEffect } = window.React;

/** @typedef {"field"|"checkpoint"|"history"} TipName */
/** In their order. @type {TipName[]} */
const NAMES = ["field", "checkpoint", "history"];
const FIRST_RUN = "first-run";

const getOption = (name) => `tip-${name}-read`;
const LazyTip = lazy(() => import("./tip.lazy.mjs"), "Tip");

/** @param {TipName[]} names */
function endTips(names) {
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
  const [isFirstRun] = usePageOption(FIRST_RUN);
  const isRead = NAMES.map((each) => usePageOption(getOption(each))[0]); // always the same hooks
  return isFirstRun && isRead.indexOf(false) === NAMES.indexOf(name);
}

/** @param {TipName} name @returns {string} the id of the tip's text */
export const getTipId = (name) => `tip-${name}`;

/** A tip in its place in the page, so that it covers nothing. @param {{name: TipName}} props */
export function Tip({ name }) {
  const isShown = useTip(name);
  return isShown && h(LazyTip, { name, id: getTipId(name), onRead: () => storeOption(getOption(name), true) });
}
