/** The data of the panels as they are set: the conversation first, and the rest when it is painted. */
import { waitForPaint } from "./painting.mjs";
import { getProperties, setProperties } from "./properties.mjs";

const CONVERSATION = new Set(["transcript", "composer-panel", "undo-state"]); // what a person acts on
let shownChanges = 0; // of the panels' data
/** @type {Record<string, object>|null} properties that are shown after the paint of the conversation */
let waiting = null;

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

/** Return whether no part of a reading waits for the paint of its conversation. */
export const isShowingAll = () => waiting === null;

/** @param {Record<string, object>} properties by the ids of components */
export function showData(properties) {
  shownChanges += 1;
  setProperties(properties);
}

/**
 * Show the conversation first, and the rest when it is painted. Each property that Dash sets costs a look at all components,
 * so those that have their values already are left out.
 * @param {Record<string, object>} panels properties of a reading @param {Record<string, object>} [others] to show at once
 */
export async function showInOrder(panels, others = {}) {
  showWaiting();
  const [first, rest] = [true, false].map((isFirst) =>
    Object.fromEntries(Object.entries(panels).filter(([id]) => CONVERSATION.has(id) === isFirst)));
  showData(omitShown(mergeProperties(others, first)));
  waiting = rest;
  if (!document.hidden) await waitForPaint();
  if (waiting === rest) showWaiting();
}

/** Show at once what waits for the paint of its conversation. */
export function showWaiting() {
  if (waiting === null) return;
  const rest = waiting;
  waiting = null;
  showData(omitShown(rest));
}

const omitShown = (properties) =>
  Object.fromEntries(Object.entries(properties).filter(([id, values]) => !isShown(getProperties(id), values)));

const isShown = (shown, values) => shown && Object.entries(values).every(([name, value]) => shown[name] === value);

const mergeProperties = (one, other) =>
  Object.entries(other).reduce((merged, [id, values]) => ({ ...merged, [id]: { ...merged[id], ...values } }), one);
