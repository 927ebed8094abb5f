/** The tips for somebody who sees the page for the first time. A tip that was read never comes back. */
import { lazy } from "./lazy.mjs";
import { readOption, storeOption, usePageOption } from "./page-options.mjs";

const { createElement: h, useEffect } = window.React;

/** @typedef {"field"|"history"|"checkpoint"} TipName */
const NAMES = ["field", "history", "checkpoint"];
const FIRST_RUN = "first-run";

const getOption = (name) => `tip-${name}-read`;
const LazyTip = lazy(() => import("./tip.lazy.mjs"), "Tip");

/** End all tips. */
function endTips() {
  for (const name of NAMES) if (!readOption(getOption(name))) storeOption(getOption(name), true);
}

/**
 * Begin the tips where the list of conversations is empty; without them, the page is known.
 * @param {{id: string}[]|undefined} threads
 */
export function useFirstRun(threads) {
  const count = threads?.length;
  useEffect(() => {
    if (count === undefined || readOption(FIRST_RUN)) return;
    if (count > 0) endTips();
    storeOption(FIRST_RUN, true);
  }, [count]);
}

/** End all tips with the first checkpoint. @param {number} count of checkpoints */
export function useEndOfTips(count) {
  useEffect(() => {
    if (count > 0) endTips();
  }, [count]);
}

/** @param {TipName} name @returns {boolean} whether the page shows the tip */
export function useTip(name) {
  const [isFirstRun] = usePageOption(FIRST_RUN);
  const [isRead] = usePageOption(getOption(name));
  return isFirstRun && !isRead;
}

/** @param {TipName} name @returns {string} the id of the tip's text */
export const getTipId = (name) => `tip-${name}`;

/** A tip in its place in the page, so that it covers nothing. @param {{name: TipName}} props */
export function Tip({ name }) {
  const isShown = useTip(name);
  return isShown && h(LazyTip, { name, id: getTipId(name), onRead: () => storeOption(getOption(name), true) });
}
