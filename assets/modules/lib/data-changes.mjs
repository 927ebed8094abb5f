/** Apply the changes that a turn makes to the data of a panel. Pure functions. */

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
