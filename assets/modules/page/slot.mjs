/** A part of the first HTML whose place Dash's components take. */
import { releaseProperties } from "../lib/properties.mjs";

const { useEffect, useLayoutEffect, useState } = window.React;
const { createPortal } = window.ReactDOM;

/**
 * A Dash component. Until it is mounted, the slot shows Dash's first layout as HTML, and is inert.
 * @param {{name: string, children: any}} props
 */
export function Slot({ name, children }) {
  const [slot] = useState(() => document.querySelector(`[data-slot="${name}"]`));
  const [first] = useState(() => Array.from(slot.childNodes));
  useLayoutEffect(() => {
    for (const node of first) node.remove();
    slot.inert = false;
  }, []);
  useEffect(() => {
    // After the effects of all components: Dash shows no change before a component listens.
    const timer = setTimeout(releaseProperties);
    return () => clearTimeout(timer);
  }, []);
  return createPortal(children, slot);
}
