/** The data of the panels as they are set. */
import { getProperties, setProperties } from "../browser/properties.mjs";

/**
 * @typedef {{id: string}} Item
 * @typedef {{fields?: object, items?: Record<string, Item[]>, first?: Record<string, Item>, every?: Record<string,
 *   object>}} DataChange `fields` have new values. `items` of lists change where their id is there, and are added last
 *   elsewhere. `first` is now the first of its list. `every` item of a list gets these fields.
 */

/**
 * @param {Record<string, any>} data
 * @param {DataChange} change
 * @returns {Record<string, any>} the changed data; an item that does not change stays the same object
 */
export function changeData(data, { fields = {}, items = {}, first = {}, every = {} }) {
  const changed = { ...data, ...fields };
  for (const [list, common] of Object.entries(every))
    changed[list] = changed[list].map((item) => (isChangedBy(item, common) ? { ...item, ...common } : item));
  for (const [list, news] of Object.entries(items)) changed[list] = news.reduce(putItem, changed[list]);
  for (const [list, item] of Object.entries(first))
    changed[list] = [item, ...changed[list].filter(({ id }) => id !== item.id)];
  return changed;
}

const isChangedBy = (item, fields) => Object.entries(fields).some(([name, value]) => item[name] !== value);

function putItem(list, item) {
  const place = list.findIndex(({ id }) => id === item.id);
  return place < 0 ? [...list, item] : list.with(place, { ...list[place], ...item });
}

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
