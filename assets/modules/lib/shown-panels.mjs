/** The data of the panels as they are set. */
import { getProperties, setProperties } from "./properties.mjs";

let shownChanges = 0; // of the panels' data

/** @param {string} id of a panel */
export const getData = (id) => getProperties(id)?.data;

/** @param {string|null} thread @returns {string|null} the title of a conversation, where a panel has it */
export function findTitle(thread) {
  const { threads = [], open } = getData("threads") ?? {};
  const item = [open, ...threads].find((each) => each?.id === thread);
  const shown = getData("transcript");
  return item?.title ?? (shown?.thread === thread && shown.title ? shown.title : null);
}

/** Return how often the panels' data has changed. */
export const countShown = () => shownChanges;

/** @param {Record<string, object>} properties by the ids of components */
export function showData(properties) {
  shownChanges += 1;
  setProperties(properties);
}

/**
 * Show a reading. Each property that Dash sets costs a look at all components, so those that have their values already are
 * left out.
 * @param {Record<string, object>} panels properties of a reading @param {Record<string, object>} [others] of its reply
 */
export function showReading(panels, others = {}) {
  const properties = Object.entries(mergeProperties(others, panels));
  showData(Object.fromEntries(properties.filter(([id, values]) => !isShown(getProperties(id), values))));
}

const isShown = (shown, values) => shown && Object.entries(values).every(([name, value]) => shown[name] === value);

const mergeProperties = (one, other) =>
  Object.entries(other).reduce((merged, [id, values]) => ({ ...merged, [id]: { ...merged[id], ...values } }), one);
