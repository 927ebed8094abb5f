/** A value that changes while components show it. */
const { useSyncExternalStore } = window.React;

/**
 * @template T
 * @param {T} first
 */
export function createValue(first) {
  let value = first;
  /** @type {Set<() => void>} */
  const listeners = new Set();
  const subscribe = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const get = () => value;
  /** @param {T} next */
  const set = (next) => {
    value = next;
    for (const listener of listeners) listener();
  };
  /** Use it in a component, or what `read` makes of it. @param {() => any} [read] */
  const use = (read = get) => useSyncExternalStore(subscribe, read);
  return { get, set, use };
}
