/** The focus of a list in which a name is edited in place. */
import { isFocusUnclaimed } from "../page/lost-focus.mjs";

const { useEffect, useRef, useState } = window.React;

/**
 * The thing whose name is in a field. Afterwards its element gets the focus back, unless that is elsewhere.
 * @param {(id: string) => HTMLElement|null|undefined} find
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
