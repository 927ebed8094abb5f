/** Listening to events. */
const { useLayoutEffect, useRef } = window.React;

/**
 * Listen while the component is mounted, by the listener of its last rendering.
 * @param {EventTarget} target @param {string} type @param {(event: any) => void} listener
 * @param {{isActive?: boolean, capture?: boolean}} [options] `isActive`: whether to listen now
 */
export function useListener(target, type, listener, { isActive = true, capture = false } = {}) {
  const latest = useRef(listener);
  latest.current = listener;
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    const listen = (event) => latest.current(event);
    target.addEventListener(type, listen, { capture });
    return () => target.removeEventListener(type, listen, { capture });
  }, [isActive]);
}

/**
 * Act on each click on an element, or within it, wherever it comes from.
 * @param {string} selector @param {(element: HTMLElement, event: MouseEvent) => void} act
 */
export function watchClicks(selector, act) {
  document.addEventListener("click", (event) => {
    const element = /** @type {Element} */ (event.target).closest?.(selector);
    if (element) act(element, event);
  });
}
