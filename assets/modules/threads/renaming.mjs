/** The focus of a list in which a name is edited in place. */
import { isFocusUnclaimed } from "../page/lost-focus.mjs";

const { useEffect, useRef, useState } = window.React;

/**
 * Hold the id of the item whose name is being edited. Afterwards its element gets the focus, unless that is elsewhere.
 * @param {(id: string) => HTMLElement|null|undefined} find the element of an item
 * @returns {[string|null, (id: string|null) => void]}
 */
export function useRenamed(find) {
  const [id, setId] = useState(null);
  const last = useRef(null);
  useEffect(() => {
    if (id === null && last.current !== null && isFocusUnclaimed()) find(last.current)?.focus();
    last.current = id;
  }, [id]);
  return [id, setId];
}
