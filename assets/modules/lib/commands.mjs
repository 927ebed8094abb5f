/** Commands of the palette and of the message field (`/`). Each mounted component offers its own. */
const { useEffect, useRef } = window.React;

export const GO_BACK = "Go back to";
const commandsByOwner = new Map();

/**
 * @param {string} owner name of the component that offers
 * @param {() => Command[]} list called when the palette opens, and while a slash command is typed
 */
export function useCommands(owner, list) {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    commandsByOwner.set(owner, () => latest.current());
    return () => commandsByOwner.delete(owner);
  }, [owner]);
}

/** @returns {Command[]} all current offers; the order in which components were mounted has no effect */
export const listCommands = () => [...commandsByOwner].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, list]) => list());
